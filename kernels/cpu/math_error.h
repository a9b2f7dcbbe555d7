// The error function and its kin on vectors of floats. The coefficients come from fit_math.py.
//
// Largest errors, as in math.h: erf 5.4 · erfc 6.8 · erfinv 3
#pragma once
#include "kernels/cpu/math.h"

namespace tenon::cpu::TENON_ISA {

/// Of numbers that are far from the largest and the least one.
static TENON_INLINE vf quotient(vf a, vf b) {
#if defined(__AVX512F__)
  const auto reciprocal = reinterpret_cast<vf>(_mm512_rcp14_ps(reinterpret_cast<__m512>(b)));
  const vf q = a * reciprocal;
  return (a - q * b) * reciprocal + q;
#else
  return a / b;
#endif
}

static TENON_INLINE vf verf(vf whole) {
  constexpr float saturated = 3.95f;  // beyond it the result rounds to 1
  const vf x = clamp(whole, -saturated, saturated);
  const vf s = x * x;
  const vf p =
      polynomial(s, 2.0259101e-06f, 0.0002846882f, 0.0038081706f, 0.052875474f, 0.1915505f, 1.1283791f);
  const vf q = polynomial(s, 3.7831847e-05f, 0.0011707285f, 0.015055107f, 0.1145597f, 0.50308985f, 1.0f);
  const vf inside = clamp(quotient(x * p, q), -1.0f, 1.0f);
  return with_sign_of(vabs(whole) > saturated ? broadcast(1.0f) : inside, whole);  // -0 stays
}

/// erfc(x) = exp(-x^2) times a smooth function; x^2 is a square that is exact and a rest.
static TENON_INLINE vf verfc(vf whole) {
  const vf x = min_or_b(broadcast(10.1f), vabs(whole));  // beyond it the result is 0
  const vf high = from_bits(bits(x) & ~0xfff);
  const vf scaled = quotient(polynomial(x, 0.042533576f, 0.26909187f, 0.8097444f, 1.3069615f, 1.0000072f),
                             polynomial(x, 0.07538849f, 0.47696584f, 1.472695f, 2.5574746f, 2.435414f, 1.0f));
  const vf rest = (high - x) * (high + x);
  const vf tail =
      vexp(-high * high) * (scaled * polynomial(rest, 0.0416666667f, 0.166666667f, 0.5f, 1.0f, 1.0f));
  const vf near = 1.0f - whole * polynomial(whole * whole, 0.00471799f, -0.026757184f, 0.112828225f,
                                            -0.37612608f, 1.1283791f);
  return vabs(whole) < 0.5f ? near : whole < 0.0f ? 2.0f - tail : tail;
}

/// By w = -log(1 - x^2), as M. Giles, Approximating the erfinv function (2010), does.
static TENON_INLINE vf verfinv(vf x) {
  const vf w = -vlog((1.0f - x) * (1.0f + x));
  const vf near =
      polynomial(w - 2.5f, -8.791043e-09f, 2.3232637e-08f, 4.6617046e-07f, -3.4627046e-06f, -4.963347e-06f,
                 0.00021834444f, -0.0012527419f, -0.004177387f, 0.24664028f, 1.5014094f);
  const vf far =
      polynomial(vsqrt(w) - 3.1f, 0.00011363975f, -0.0002054713f, -0.0002590506f, 0.0013685961f,
                 -0.0027363678f, 0.0041068504f, -0.0056924243f, 0.0074615893f, 1.0033559f, 2.9332316f);
  const vf result = x * (w < 5.0f ? near : far);
  return vabs(x) == 1.0f ? x * infinity : result;
}

}  // namespace tenon::cpu::TENON_ISA
