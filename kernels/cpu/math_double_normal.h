// The scaled complementary error function, and the logarithm and the inverse of the normal distribution
// function, in doubles without branches, as the functions of math_double.h. The coefficients come from
// fit_special.py.
//
// Largest errors, as there: erfcx 4 · log_ndtr 4 · ndtri 4 for 2^-52 < x < 1
#pragma once
#include "kernels/cpu/math_double_error.h"

namespace tenon::cpu::TENON_ISA {

/// exp(x^2) erfc(x) for 0 <= x < 2^1000.
static TENON_INLINE double double_erfcx_of_positive(double x) {
  const double t = (x - 4) / (x + 4);
  return double_horner(
             t, -0x1.3ab58f87cfb03p-33, -0x1.24000f0a15ee9p-32, 0x1.f5d7df6dfda90p-30, 0x1.b34e17ed4ff9fp-29,
             -0x1.fcc3a5268653fp-27, -0x1.611fc8f45b510p-26, 0x1.d98825ca9deb5p-24, 0x1.4cb0ece36623dp-24,
             -0x1.baf5e74545cc2p-21, 0x1.398374178fe8cp-22, 0x1.7f2545048fbf3p-18, -0x1.78862b6b1e3abp-17,
             -0x1.9958e21c32f5cp-16, 0x1.3be04c486a75ep-13, -0x1.a1df289a58f28p-13, -0x1.8d4a9b0690e08p-11,
             0x1.49c6728a1a0f0p-8, -0x1.096238838fb04p-6, 0x1.3079edf67777bp-5, -0x1.0fb06dfe52605p-4,
             0x1.7fee004e1295bp-4, -0x1.9ddb23c3e89f3p-4, 0x1.16ecefcfa5383p-4, 0x1.f7f5df66fd6bap-7,
             -0x1.1df1ad154a28ep-3, 0x1.3ba5916e9fd7fp+0) /
         (1 + 2 * x);
}
/// exp(scale x^2) for 0 <= x < 100 and a scale that is a power of two: of a square that is exact, and the
/// rest.
static TENON_INLINE double double_exp_of_square(double x, double scale) {
  const double high = double_of_bits(bits_of(x) & ~std::uint64_t{0x7ffffff});
  const double rest = scale * ((x - high) * (x + high));
  return double_exp(scale * (high * high)) * double_horner(rest, 1.0 / 6, 0.5, 1, 1);
}
/// For |x| < 2^1000.
static TENON_INLINE double double_erfcx(double x) {
  const double m = __builtin_fabs(x), above = double_erfcx_of_positive(m);
  const double below = 2 * double_exp_of_square(double_clamp(m, 0, 28), 1) - above;  // beyond it infinite
  return x < 0 ? below : above;
}

/// The logarithm of the normal distribution function for -2^500 < x <= 0.
static TENON_INLINE double double_log_ndtr_below(double x) {
  return double_log(0.5 * double_erfcx_of_positive(-0x1.6a09e667f3bcdp-1 * x)) - 0.5 * x * x;
}
/// The same for x >= 0.
static TENON_INLINE double double_log_ndtr_above(double x) {
  const double m = double_clamp(x, 0, 40);  // beyond it 0
  const double tail =
      0.5 * double_erfcx_of_positive(0x1.6a09e667f3bcdp-1 * m) * double_exp_of_square(m, -0.5);
  return double_log1p(-tail);
}

/// The inverse of the normal distribution function, for 0 < p < 1: sqrt(2) erfinv(2 p - 1), where the smaller
/// one of p and 1 - p keeps its digits. Near: it is at least 2^-11; else it is at least 2^-52.
template <bool near>
static TENON_INLINE double double_ndtri(double p) {
  const double tail = p < 0.5 ? p : 1 - p, twice = 2 * tail, x = 2 * p < 1 ? twice - 1 : 1 - twice;
  const double w = -double_log(twice * (2 - twice));
  const double of_near = double_erfinv_near(x, w);
  if constexpr (near) return 0x1.6a09e667f3bcdp0 * of_near;
  const double of_far = double_erfinv_far(x, w);
  return 0x1.6a09e667f3bcdp0 * (w < nearest_erfinv ? of_near : of_far);
}

}  // namespace tenon::cpu::TENON_ISA
