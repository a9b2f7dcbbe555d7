// Hyperbolic functions and their inverses on vectors of floats. The coefficients come from fit_math.py.
//
// Largest errors, as in math.h: sinh 1.4 · cosh 1.4 · asinh 1.9 · acosh 1.8 · atanh 2.1
#pragma once
#include "kernels/cpu/math.h"

namespace tenon::cpu::TENON_ISA {

static TENON_INLINE vf vsinh(vf whole) {
  const vf x = vabs(whole), s = x * x;
  const vf half = exp_times(x, -1);  // of e^x, which may overflow
  const vf far = half - 0.25f / half;
  const vf near = polynomial(s, 0.00020377405f, 0.008330211f, 0.16666718f) * (s * x) + x;
  return with_sign_of(x < 1.0f ? near : far, whole);
}
static TENON_INLINE vf vcosh(vf x) {
  const vf half = exp_times(vabs(x), -1);
  return half + 0.25f / half;
}

/// log(x) + log(2) for large x.
static TENON_INLINE vf log_twice(vf x) { return vlog(x) + 0.693147181f; }

static TENON_INLINE vf vasinh(vf whole) {
  const vf x = vabs(whole), s = x * x;
  const vf near = vlog1p(x + s / (1.0f + vsqrt(1.0f + s)));
  return with_sign_of(x < 1e4f ? near : log_twice(x), whole);
}
static TENON_INLINE vf vacosh(vf x) {
  const vf t = x - 1.0f;
  const vf near = vlog1p(t + vsqrt(2.0f * t + t * t));
  return x < 1.0f ? broadcast(__builtin_nanf("")) : x < 1e4f ? near : log_twice(x);
}
static TENON_INLINE vf vatanh(vf whole) {
  const vf x = vabs(whole);
  return with_sign_of(0.5f * vlog1p(2.0f * x / (1.0f - x)), whole);
}

}  // namespace tenon::cpu::TENON_ISA
