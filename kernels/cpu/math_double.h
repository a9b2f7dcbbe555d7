// Exponentials and the logarithm of doubles without branches: in plain loops the compiler turns them into
// vector code.
//
// Largest errors over the whole range, in units of the last place, against long double
// (tests/kernels/prims_test.cpp):
//   exp 1.0 · expm1 1.8 · sigmoid 2.0 · tanh 2.5 · log 1.0
#pragma once
#include <cstdint>

#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

/// x = n ln 2 + r with |r| <= ln(2) / 2, where n is an integer; also e^r - 1.
struct DoubleExpParts {
  std::int64_t n;
  double expm1_r;
};
static TENON_INLINE DoubleExpParts double_exp_parts(double x) {
  constexpr double magic = 0x1.8p52;  // the fraction bits of a sum with it fall off
  const double sum = x * 0x1.71547652b82fep0 + magic;
  const double n = sum - magic;
  const double r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;  // the first product is exact
  double tail = 1.0 / 6227020800;  // (e^r - 1 - r) / r^2, by Taylor: |r^14 / 14!| < 5e-18
  tail = tail * r + 1.0 / 479001600;
  tail = tail * r + 1.0 / 39916800;
  tail = tail * r + 1.0 / 3628800;
  tail = tail * r + 1.0 / 362880;
  tail = tail * r + 1.0 / 40320;
  tail = tail * r + 1.0 / 5040;
  tail = tail * r + 1.0 / 720;
  tail = tail * r + 1.0 / 120;
  tail = tail * r + 1.0 / 24;
  tail = tail * r + 1.0 / 6;
  tail = tail * r + 0.5;
  return {__builtin_bit_cast(std::int64_t, sum) - __builtin_bit_cast(std::int64_t, magic),
          tail * (r * r) + r};
}
/// 2^n for n in [-1022, 1023].
static TENON_INLINE double double_power_of_two(std::int64_t n) {
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(n + 1023) << 52);
}
/// NaN stays.
static TENON_INLINE double double_clamp(double x, double low, double high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

static TENON_INLINE double double_exp(double x) {
  const DoubleExpParts e = double_exp_parts(double_clamp(x, -746, 710));
  // 2^n in two factors: n reaches from -1076 (a subnormal or zero result) to 1024 (infinity).
  const std::int64_t half = (e.n + 2048) / 2 - 1024;
  return ((e.expm1_r + 1) * double_power_of_two(half)) * double_power_of_two(e.n - half);
}
/// For x <= 300: 2^n (e^r - 1) + (2^n - 1).
static TENON_INLINE double double_expm1_below(double x) {
  const DoubleExpParts e = double_exp_parts(double_clamp(x, -40, 300));
  const double scale = double_power_of_two(e.n);
  return e.expm1_r * scale + (scale - 1);
}
static TENON_INLINE double double_expm1(double x) { return x > 300 ? double_exp(x) : double_expm1_below(x); }
static TENON_INLINE double double_tanh(double x) {
  const double twice = double_expm1_below(2 * __builtin_fabs(x));
  return __builtin_copysign(twice / (twice + 2), x);
}
static TENON_INLINE double double_sigmoid(double x) { return 1 / (1 + double_exp(-x)); }

/// x = 2^n m with m in [sqrt(1/2), sqrt(2)); log(m) = 2 artanh(s) of s = (m - 1) / (m + 1), by the series of
/// (log(m) - f + f^2 / 2) / s in s^2, f = m - 1.
static TENON_INLINE double double_log(double x) {
  const bool is_subnormal = x < 0x1p-1022;
  const auto bits = __builtin_bit_cast(std::int64_t, is_subnormal ? x * 0x1p54 : x);
  constexpr std::int64_t root_half = 0x3fe6a09e667f3bcd;
  // The shift is of unsigned numbers, which every ISA has for 64 bits.
  const auto biased = static_cast<std::uint64_t>(bits - root_half) + (std::uint64_t{1024} << 52);
  const std::int64_t n = static_cast<std::int64_t>(biased >> 52) - 1024;
  const double f = __builtin_bit_cast(double, bits - (n << 52)) - 1;
  // n as a double: its low bits in those of a number whose last place is 1.
  const double power =
      __builtin_bit_cast(double, 0x4338000000000000 + n) - 0x1.8p52 - (is_subnormal ? 54 : 0);
  const double s = f / (2 + f), z = s * s, half_square = 0.5 * f * f;
  double series = 2.0 / 21;
  series = series * z + 2.0 / 19;
  series = series * z + 2.0 / 17;
  series = series * z + 2.0 / 15;
  series = series * z + 2.0 / 13;
  series = series * z + 2.0 / 11;
  series = series * z + 2.0 / 9;
  series = series * z + 2.0 / 7;
  series = series * z + 2.0 / 5;
  series = series * z + 2.0 / 3;
  const double low = power * 0x1.a39ef35793c76p-33;  // of n ln 2
  const double result =
      power * 0x1.62e42feep-1 - ((half_square - (s * (half_square + series * z) + low)) - f);
  const double of_special = x == 0 ? -__builtin_inf() : x < 0 ? __builtin_nan("") : x;
  return x > 0 && x < __builtin_inf() ? result : of_special;
}

}  // namespace tenon::cpu::TENON_ISA
