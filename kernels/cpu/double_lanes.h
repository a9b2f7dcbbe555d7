// What functions of doubles are made of, for one double, of which plain loops make vectors, and for the
// vector of an ISA that has instructions for such parts. For sources that are built once per ISA.
#pragma once
#include <cstdint>

#include "kernels/cpu/simd_lanes.h"
#include "kernels/cpu/special_logarithms.h"

namespace tenon::cpu::TENON_ISA {

using vd = Lanes<double>::V;
/// Do functions of a vector of doubles have such instructions?
#if defined(__AVX512F__)
inline constexpr bool has_double_lanes = true;
#else
inline constexpr bool has_double_lanes = false;
#endif

static TENON_INLINE double choose(bool condition, double a, double b) { return condition ? a : b; }
static TENON_INLINE double magnitude_of(double x) { return __builtin_fabs(x); }
static TENON_INLINE double signed_as(double x, double sign) { return __builtin_copysign(x, sign); }
static TENON_INLINE double root_of(double x) { return __builtin_sqrt(x); }
static TENON_INLINE std::uint64_t bits_of(double x) { return __builtin_bit_cast(std::uint64_t, x); }
static TENON_INLINE double double_of_bits(std::uint64_t x) { return __builtin_bit_cast(double, x); }
/// NaN stays.
static TENON_INLINE double double_clamp(double x, double low, double high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}
/// Of numbers that are far from the largest and the least one.
static TENON_INLINE double double_quotient(double a, double b) { return a / b; }

/// What a sum has added whose last place is 1: the fraction bits of the other number fall off.
constexpr double double_magic = 0x1.8p52;
/// 2^n of n + double_magic, for n in [-1022, 1023].
static TENON_INLINE double double_power_of_two(double sum) {
  return double_of_bits((bits_of(sum) + 1023) << 52);
}
/// p 2^n of about 1 and n + double_magic, for n in [-1100, 1030]; it may be subnormal or infinite.
static TENON_INLINE double double_scaled(double p, double sum) {
  const bool is_small = sum < double_magic - 1021;
  const std::uint64_t n = bits_of(sum) + (is_small ? 64 : 0);
  return double_of_bits(bits_of(p) + (n << 52)) * (is_small ? 0x1p-64 : 1);
}

/// A logarithm of x, where x is in (0, infinity), else what logarithms are there.
static TENON_INLINE double double_log_or_special(double x, double result) {
  const double of_special = x == 0 ? -__builtin_inf() : x < 0 ? __builtin_nan("") : x;
  return x > 0 && x < __builtin_inf() ? result : of_special;
}

#if defined(__AVX512F__)
using vd_bits = Lanes<std::uint64_t>::V;
static TENON_INLINE __m512d native(vd x) { return reinterpret_cast<__m512d>(x); }
static TENON_INLINE vd lanes_of(__m512d x) { return reinterpret_cast<vd>(x); }

template <class Condition>
static TENON_INLINE vd choose(Condition condition, vd a, vd b) {
  return condition ? a : b;
}
static TENON_INLINE vd_bits bits_of(vd x) { return reinterpret_cast<vd_bits>(x); }
static TENON_INLINE vd double_of_bits(vd_bits x) { return reinterpret_cast<vd>(x); }
static TENON_INLINE vd magnitude_of(vd x) { return double_of_bits(bits_of(x) & 0x7fffffffffffffff); }
static TENON_INLINE vd signed_as(vd x, vd sign) {
  return double_of_bits((bits_of(x) & 0x7fffffffffffffff) | (bits_of(sign) & 0x8000000000000000));
}
static TENON_INLINE vd double_clamp(vd x, double low, double high) {
  return lanes_of(_mm512_min_pd(_mm512_set1_pd(high), _mm512_max_pd(_mm512_set1_pd(low), native(x))));
}
/// By a reciprocal of 14 bits, then of 42, and what the quotient leaves.
static TENON_INLINE vd double_quotient(vd a, vd b) {
  const vd y = lanes_of(_mm512_rcp14_pd(native(b))), error = 1 - b * y;
  const vd reciprocal = y * (error * error + error) + y, quotient = a * reciprocal;
  return (a - quotient * b) * reciprocal + quotient;
}
/// Correctly rounded, as P. Markstein, Computation of elementary functions on the IBM RISC System/6000
/// processor (1990), does: by the error of a root that is almost right. The instruction for it takes three
/// times as long.
static TENON_INLINE vd root_of(vd x) {
  // Where no part of it overflows or vanishes.
  const vd_bits place = bits_of(x) - 0x1000000000000000;
  if (_mm512_cmpge_epu64_mask(reinterpret_cast<__m512i>(place), _mm512_set1_epi64(0x6000000000000000)) != 0)
    return lanes_of(_mm512_sqrt_pd(native(x)));
  const vd y = lanes_of(_mm512_rsqrt14_pd(native(x)));
  const vd g = x * y, h = 0.5 * y, error = 0.5 - g * h, more = error * (1.5 * error + 1);
  const vd half = h * more + h, near = g * more + g;
  const vd root = (x - near * near) * half + near;
  const vd half_inverse = (0.5 - root * half) * half + half;
  return (x - root * root) * half_inverse + root;
}

static TENON_INLINE vd double_scaled(vd p, vd sum) {
  return lanes_of(_mm512_scalef_pd(native(p), native(sum - double_magic)));
}
static TENON_INLINE vd double_power_of_two(vd sum) { return double_scaled(vd{} + 1, sum); }
static TENON_INLINE vd double_log_or_special(vd x, vd result) {
  return lanes_of(_mm512_fixupimm_pd(native(result), native(x), _mm512_set1_epi64(special_logarithms), 0));
}
#endif

}  // namespace tenon::cpu::TENON_ISA
