// Sines and cosines of doubles without branches, as those of math_double.h. The coefficients come from
// fit_math.py.
//
// Largest errors, as in math_double.h: sin, cos 0.9
#pragma once
#include "kernels/cpu/math_double.h"

namespace tenon::cpu::TENON_ISA {

/// x = n pi / 2 + r + low with |r| <= pi / 4, for |x| <= largest_double_angle. The low bits of n are right.
struct DoubleQuadrant {
  std::uint64_t n;
  double r, low;
};
inline constexpr double largest_double_angle = 1e6;
static TENON_INLINE DoubleQuadrant double_quadrant(double x) {
  const double sum = x * 0x1.45f306dc9c883p-1 + 0x1.8p52;  // 2 / pi; the fraction bits fall off
  const double n = sum - 0x1.8p52;
  // pi / 2 in pieces of 33 bits and a rest: products of n with a piece are exact.
  const double p1 = n * 0x1.921fb544p+0, p2 = n * 0x1.0b4611a6p-34, p3 = n * 0x1.3198a2ep-69;
  const double r1 = x - p1;
  const double r2 = r1 - p2, lost2 = (r1 - r2) - p2;
  const double r3 = r2 - p3, lost3 = (r2 - r3) - p3;
  const double rest = (lost2 + lost3) - n * 0x1.b839a252049c1p-104;
  const double r = r3 + rest;
  return {__builtin_bit_cast(std::uint64_t, sum), r, (r3 - r) + rest};
}
static TENON_INLINE double double_sin_of_quadrant(std::uint64_t n, double r, double low) {
  const double z = r * r, cube = z * r;
  const double sin_tail =
      double_polynomial(z, 0x1.5e0916b55db48p-33, -0x1.ae60056a84b17p-26, 0x1.71de379129f2ep-19,
                        -0x1.a01a019e7f846p-13, 0x1.1111111110ba1p-7);
  const double s = r - ((z * (0.5 * low - cube * sin_tail) - low) + cube * 0x1.5555555555555p-3);
  const double cos_tail =
      double_polynomial(z, -0x1.907b9fa75dee8p-37, 0x1.1eeb661c764f3p-29, -0x1.27e4fa1529574p-22,
                        0x1.a01a019f4c9c5p-16, -0x1.6c16c16c1695ep-10, 0x1.5555555555555p-5);
  const double half = 0.5 * z, w = 1 - half;
  const double c = w + (((1 - w) - half) + (z * (z * cos_tail) - r * low));
  const auto magnitude = __builtin_bit_cast(std::uint64_t, (n & 1) != 0 ? c : s);
  return __builtin_bit_cast(double, magnitude ^ ((n & 2) << 62));
}
static TENON_INLINE double double_sin(double x) {
  const DoubleQuadrant q = double_quadrant(x);
  const double result = double_sin_of_quadrant(q.n, q.r, q.low);
  return x == 0 ? x : result;  // keeps -0
}
static TENON_INLINE double double_cos(double x) {
  const DoubleQuadrant q = double_quadrant(x);
  return double_sin_of_quadrant(q.n + 1, q.r, q.low);
}

}  // namespace tenon::cpu::TENON_ISA
