// Exponentials of doubles without branches: in plain loops the compiler turns them into vector code.
//
// Largest errors over the whole range, in units of the last place, against long double
// (tests/kernels/prims_test.cpp):
//   exp 1.0 · expm1 1.8 · sigmoid 2.0 · tanh 2.5
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

}  // namespace tenon::cpu::TENON_ISA
