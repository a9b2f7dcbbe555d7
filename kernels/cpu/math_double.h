// Exponentials and logarithms of doubles without branches: in plain loops the compiler turns them into
// vector code. The coefficients come from fit_math.py.
//
// Largest errors over the whole range, in units of the last place, against long double
// (tests/kernels/prims_test.cpp):
//   exp 1.0 · expm1 2.0 · sigmoid 2.4 · tanh 2.5 · log 1.0 ·
//   log2 1.5 · log10 1.6 · log1p 0.8 · exp2 1.1
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

/// Coefficients of the highest power first. Every other power is summed beside the others: half the latency.
template <class... C>
static TENON_INLINE double double_polynomial(double x, C... coefficients) {
  constexpr std::size_t n = sizeof...(C);
  const double c[n] = {coefficients...}, square = x * x;
  double first = c[0], second = c[1];
  const auto add = [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    (((I % 2 == 0 ? first : second) = (I % 2 == 0 ? first : second) * square + c[I + 2]), ...);
  };
  add(std::make_index_sequence<n - 2>{});
  return n % 2 == 1 ? second * x + first : first * x + second;
}

/// The same in one sum, which rounds once less.
template <class... C>
static TENON_INLINE double double_horner(double x, double highest, C... others) {
  double sum = highest;
  ((sum = sum * x + others), ...);
  return sum;
}

/// x = n ln 2 + r with |r| <= ln(2) / 2, where n is an integer; also e^r - 1.
struct DoubleExpParts {
  std::int64_t n;
  double expm1_r;
};
constexpr double double_magic = 0x1.8p52;  // the fraction bits of a sum with it fall off
/// Of r and of n + double_magic.
static TENON_INLINE DoubleExpParts double_exp_parts_of(double r, double sum) {
  const double tail = double_polynomial(
      r, 0x1.1f73102e57f8bp-29, 0x1.af4e000e84be8p-26, 0x1.27e4db5e389d2p-22, 0x1.71de0226bd07ap-19,
      0x1.a01a01a6da7e2p-16, 0x1.a01a01abeb69fp-13, 0x1.6c16c16c162d1p-10, 0x1.11111111100d5p-7,
      0x1.5555555555556p-5, 0x1.5555555555557p-3, 0.5);  // (e^r - 1 - r) / r^2
  return {__builtin_bit_cast(std::int64_t, sum) - __builtin_bit_cast(std::int64_t, double_magic),
          tail * (r * r) + r};
}
static TENON_INLINE DoubleExpParts double_exp_parts(double x) {
  const double sum = x * 0x1.71547652b82fep0 + double_magic;
  const double n = sum - double_magic;
  const double r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;  // the first product is exact
  return double_exp_parts_of(r, sum);
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

/// e^x where it and e^-x are normal numbers.
static TENON_INLINE double double_exp_of_normal(double x) {
  const DoubleExpParts e = double_exp_parts(x);
  return (e.expm1_r + 1) * double_power_of_two(e.n);
}
/// 2^n e^r; where `is_small`, it may be subnormal.
static TENON_INLINE double double_exp_of_parts(const DoubleExpParts& e, bool is_small) {
  const std::int64_t n = is_small ? e.n + 64 : e.n;
  const auto bits = __builtin_bit_cast(std::uint64_t, e.expm1_r + 1) + (static_cast<std::uint64_t>(n) << 52);
  return __builtin_bit_cast(double, bits) * (is_small ? 0x1p-64 : 1);
}
static TENON_INLINE double double_exp(double x) {
  const double result = double_exp_of_parts(double_exp_parts(double_clamp(x, -746, 710)), x < -708);
  constexpr double ln_of_largest = 0x1.62e42fefa39efp9;
  return x <= ln_of_largest ? result : x + __builtin_inf();  // NaN, too, whose bits made some number of n
}
static TENON_INLINE double double_exp2(double x) {
  const double clamped = double_clamp(x, -1080, 1030), sum = clamped + double_magic;
  const double r = (clamped - (sum - double_magic)) * 0x1.62e42fefa39efp-1;
  const double result = double_exp_of_parts(double_exp_parts_of(r, sum), x < -1021);
  return x < 1024 ? result : x + __builtin_inf();
}
/// For x <= 300: 2^n (e^r - 1) + (2^n - 1).
static TENON_INLINE double double_expm1_below(double x) {
  const DoubleExpParts e = double_exp_parts(double_clamp(x, -40, 300));
  const double scale = double_power_of_two(e.n);
  return e.expm1_r * scale + (scale - 1);
}
static TENON_INLINE double double_expm1(double x) {
  const double result = x > 300 ? double_exp(x) : double_expm1_below(x);
  return x == 0 ? x : result;  // keeps -0
}
static TENON_INLINE double double_tanh(double x) {
  const double twice = double_expm1_below(2 * __builtin_fabs(x));
  return __builtin_copysign(twice / (twice + 2), x);
}
static TENON_INLINE double double_sigmoid(double x) { return 1 / (1 + double_exp(-x)); }

/// A positive number is 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
struct DoubleLogParts {
  double n, f;
};
static TENON_INLINE DoubleLogParts double_log_parts(double x) {
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
  return {power, f};
}
/// n ln 2 + log(1 + f) + rest: log(1 + f) = 2 artanh(s) of s = f / (2 + f), by the series of
/// (log(1 + f) - f + f^2 / 2) / s in s^2.
static TENON_INLINE double double_log_of(DoubleLogParts parts, double rest = 0) {
  const double f = parts.f, s = f / (2 + f), z = s * s, half_square = 0.5 * f * f;
  const double series = double_polynomial(z, 0x1.2b5888923b9b5p-3, 0x1.39fe5b636d6b3p-3, 0x1.7462b4d1bf4b4p-3,
                                          0x1.c71c62e4f889ap-3, 0x1.2492492df1b31p-2, 0x1.99999999952dep-2,
                                          0x1.5555555555558p-1);
  const double low = parts.n * 0x1.a39ef35793c76p-33 + rest;  // of n ln 2
  return parts.n * 0x1.62e42feep-1 - ((half_square - (s * (half_square + series * z) + low)) - f);
}
/// A logarithm of x, where x is in (0, infinity), else what logarithms are there.
static TENON_INLINE double double_log_or_special(double x, double result) {
  const double of_special = x == 0 ? -__builtin_inf() : x < 0 ? __builtin_nan("") : x;
  return x > 0 && x < __builtin_inf() ? result : of_special;
}
static TENON_INLINE double double_log(double x) {
  return double_log_or_special(x, double_log_of(double_log_parts(x)));
}
/// Of powers of two it is exact.
static TENON_INLINE double double_log2(double x) {
  const DoubleLogParts parts = double_log_parts(x);
  const double of_rest = double_log_of({0, parts.f});
  return double_log_or_special(x, of_rest * 0x1.71547652b82fep0 + parts.n);
}
static TENON_INLINE double double_log10(double x) {
  const DoubleLogParts parts = double_log_parts(x);
  const double low = parts.n * 0x1.ef3fde623e256p-35 + double_log_of({0, parts.f}) * 0x1.bcb7b1526e50ep-2;
  return double_log_or_special(x, parts.n * 0x1.34413509p-2 + low);  // the first product is exact
}
/// log(1 + x): of the rounded sum, and what its rounding left out.
static TENON_INLINE double double_log1p(double x) {
  const double sum = 1 + x;
  const double lost = x < 1 ? x - (sum - 1) : 1 - (sum - x);
  const double result = double_log_or_special(sum, double_log_of(double_log_parts(sum), lost / sum));
  return x == 0 ? x : result;  // keeps -0
}

}  // namespace tenon::cpu::TENON_ISA
