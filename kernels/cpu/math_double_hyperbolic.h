// Hyperbolic functions of doubles without branches, as those of math_double.h.
//
// Largest errors, as in math_double.h: sinh 2.7 · cosh 2.7 · asinh 1.5 · acosh 1.7 · atanh 1.8
#pragma once
#include "kernels/cpu/math_double.h"

namespace tenon::cpu::TENON_ISA {

/// e^x / 2 for |x| > 300, which is a number where e^x no longer is.
static TENON_INLINE double double_half_exp(double x) {
  const double root = double_exp(0.5 * x);
  return 0.5 * root * root;
}
static TENON_INLINE double double_sinh(double x) {
  const double magnitude = __builtin_fabs(x), expm1 = double_expm1_below(magnitude);
  const double near = 0.5 * (expm1 + expm1 / (expm1 + 1));
  return __builtin_copysign(magnitude > 300 ? double_half_exp(magnitude) : near, x);
}
static TENON_INLINE double double_cosh(double x) {
  const double magnitude = __builtin_fabs(x), exp = double_exp_of_normal(double_clamp(magnitude, 0, 300));
  return magnitude > 300 ? double_half_exp(magnitude) : 0.5 * exp + 0.5 / exp;
}

/// From here on sqrt(x^2 + 1) and sqrt(x^2 - 1) are x.
constexpr double double_far = 0x1p28;
constexpr double double_ln2 = 0x1.62e42fefa39efp-1;
static TENON_INLINE double double_asinh(double x) {
  const double m = __builtin_fabs(x), square = m > double_far ? 0 : m * m;
  const double near = double_log1p(m + square / (1 + __builtin_sqrt(square + 1)));
  return __builtin_copysign(m > double_far ? double_log(m) + double_ln2 : near, x);
}
/// Below 1 the root is of a negative number. No part of it is a constant anywhere: g++ would branch there.
static TENON_INLINE double double_acosh(double x) {
  const double t = x - 1, near = double_log1p(t + __builtin_sqrt(t * __builtin_fabs(t + 2)));
  return x > double_far ? double_log(x) + double_ln2 : near;
}
static TENON_INLINE double double_atanh(double x) {
  const double m = __builtin_fabs(x);
  return __builtin_copysign(0.5 * double_log1p(2 * m / (1 - m)), x);
}

}  // namespace tenon::cpu::TENON_ISA
