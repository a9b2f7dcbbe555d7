// Exponentials and logarithms without branches, of V: a double, where plain loops become vector code, or a
// vector of doubles. The coefficients come from fit_math.py.
//
// Largest errors over the whole range, in units of the last place, against long double
// (tests/kernels/prims_test.cpp):
//   exp 1.0 · expm1 2.0 · sigmoid 2.4 · tanh 2.5 · log 1.0 ·
//   log2 1.7 · log10 2.2 · log1p 0.8 · exp2 1.1
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cpu/double_lanes.h"

namespace tenon::cpu::TENON_ISA {

/// Coefficients of the highest power first. Every other power is summed beside the others: half the latency.
template <class V, class... C>
static TENON_INLINE V double_polynomial(V x, C... coefficients) {
  constexpr std::size_t n = sizeof...(C);
  const double c[n] = {coefficients...};
  const V square = x * x;
  V first = V{} + c[0], second = V{} + c[1];
  const auto add = [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    (((I % 2 == 0 ? first : second) = (I % 2 == 0 ? first : second) * square + c[I + 2]), ...);
  };
  add(std::make_index_sequence<n - 2>{});
  return n % 2 == 1 ? second * x + first : first * x + second;
}

/// The same, but for the lowest three in one sum, which rounds once less.
template <class V, class... C>
static TENON_INLINE V double_horner(V x, C... coefficients) {
  constexpr std::size_t n = sizeof...(C), split = n > 6 ? n - 3 : 1;
  const double c[n] = {static_cast<double>(coefficients)...};
  V sum = V{} + c[0];
  if constexpr (split > 1) {
    [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      sum = double_polynomial(x, c[I]...);
    }
    (std::make_index_sequence<split>{});
  }
  [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    ((sum = sum * x + c[split + I]), ...);
  }
  (std::make_index_sequence<n - split>{});
  return sum;
}

/// x = n ln 2 + r with |r| <= ln(2) / 2, where n is an integer: n + double_magic, and e^r - 1.
template <class V>
struct DoubleExpParts {
  V sum, expm1_r;
};
template <class V>
static TENON_INLINE DoubleExpParts<V> double_exp_parts_of(V r, V sum) {
  const V tail = double_polynomial(r, 0x1.1f73102e57f8bp-29, 0x1.af4e000e84be8p-26, 0x1.27e4db5e389d2p-22,
                                   0x1.71de0226bd07ap-19, 0x1.a01a01a6da7e2p-16, 0x1.a01a01abeb69fp-13,
                                   0x1.6c16c16c162d1p-10, 0x1.11111111100d5p-7, 0x1.5555555555556p-5,
                                   0x1.5555555555557p-3, 0.5);  // (e^r - 1 - r) / r^2
  return {sum, tail * (r * r) + r};
}
template <class V>
static TENON_INLINE DoubleExpParts<V> double_exp_parts(V x) {
  const V sum = x * 0x1.71547652b82fep0 + double_magic;
  const V n = sum - double_magic;
  const V r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;  // the first product is exact
  return double_exp_parts_of(r, sum);
}

/// e^x where it and e^-x are normal numbers.
template <class V>
static TENON_INLINE V double_exp_of_normal(V x) {
  const DoubleExpParts<V> e = double_exp_parts(x);
  return (e.expm1_r + 1) * double_power_of_two(e.sum);
}
/// 2^n e^r.
template <class V>
static TENON_INLINE V double_exp_of_parts(const DoubleExpParts<V>& e) {
  return double_scaled(e.expm1_r + 1, e.sum);
}
template <class V>
static TENON_INLINE V double_exp(V x) {
  const V result = double_exp_of_parts(double_exp_parts(double_clamp(x, -746, 710)));
  constexpr double ln_of_largest = 0x1.62e42fefa39efp9;
  if constexpr (!std::is_same_v<V, double>) return result;
  return choose(x <= ln_of_largest, result,
                x + __builtin_inf());  // NaN, too, whose bits made some number of n
}
template <class V>
static TENON_INLINE V double_exp2(V x) {
  const V clamped = double_clamp(x, -1080, 1030), sum = clamped + double_magic;
  const V r = (clamped - (sum - double_magic)) * 0x1.62e42fefa39efp-1;
  const V result = double_exp_of_parts(double_exp_parts_of(r, sum));
  if constexpr (!std::is_same_v<V, double>) return result;
  return choose(x < 1024, result, x + __builtin_inf());
}
#if defined(__AVX512F__)
/// 2^n 2^(j / 16) 2^r, of which the second lies in a table.
static TENON_INLINE vd double_exp2(vd x) {
  constexpr int sixteenths = 4 << 4;
  static constexpr double powers[16] = {0x1p0,
                                        0x1.0b5586cf9890fp+0,
                                        0x1.172b83c7d517bp+0,
                                        0x1.2387a6e756238p+0,
                                        0x1.306fe0a31b715p+0,
                                        0x1.3dea64c123422p+0,
                                        0x1.4bfdad5362a27p+0,
                                        0x1.5ab07dd485429p+0,
                                        0x1.6a09e667f3bcdp+0,
                                        0x1.7a11473eb0187p+0,
                                        0x1.8ace5422aa0dbp+0,
                                        0x1.9c49182a3f090p+0,
                                        0x1.ae89f995ad3adp+0,
                                        0x1.c199bdd85529cp+0,
                                        0x1.d5818dcfba487p+0,
                                        0x1.ea4afa2a490dap+0};
  const __m512d nearest = _mm512_roundscale_pd(native(x), sixteenths);
  const vd r = lanes_of(_mm512_reduce_pd(native(x), sixteenths));  // of infinity 0
  const __m512i place = _mm512_castpd_si512(native(lanes_of(nearest) + double_magic / 16));
  const vd power =
      lanes_of(_mm512_permutex2var_pd(_mm512_loadu_pd(powers), place, _mm512_loadu_pd(powers + 8)));
  const vd slope = double_polynomial(r, 0x1.430a1d08ec681p-13, 0x1.5d897e525c216p-10, 0x1.3b2ab6fb41213p-7,
                                     0x1.c6b08d6f2a289p-5, 0x1.ebfbdff82c590p-3,
                                     0x1.62e42fefa39f3p-1);                       // (2^r - 1) / r
  return lanes_of(_mm512_scalef_pd(native(power * r * slope + power), nearest));  // by its floor
}
#endif
/// For x <= 300: 2^n (e^r - 1) + (2^n - 1).
template <class V>
static TENON_INLINE V double_expm1_below(V x) {
  const DoubleExpParts<V> e = double_exp_parts(double_clamp(x, -40, 300));
  const V scale = double_power_of_two(e.sum);
  return e.expm1_r * scale + (scale - 1);
}
template <class V>
static TENON_INLINE V double_expm1(V x) {
  const V result = choose(x > 300, double_exp(x), double_expm1_below(x));
  return choose(x == 0, x, result);  // keeps -0
}
template <class V>
static TENON_INLINE V double_tanh(V x) {
  const V twice = double_expm1_below(2 * magnitude_of(x));
  return signed_as(double_quotient(twice, twice + 2), x);
}
template <class V>
static TENON_INLINE V double_sigmoid(V x) {
  return 1 / (1 + double_exp(-x));
}

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
/// log(1 + f), or what stands for it in the parts of a vector.
static TENON_INLINE double double_log_of_rest(DoubleLogParts parts) { return double_log_of({0, parts.f}); }

#if defined(__AVX512F__)
/// A positive number is 2^n c (1 + f) where c is one of 16 numbers and f in [-1/32, 1/16]; near 1, c is 1.
/// The first bits of log(c), and the others.
struct DoubleLogLanes {
  vd n, f, log_c, log_c_low;
};
static TENON_INLINE DoubleLogLanes double_log_parts(vd x) {
  static constexpr double inverse[16] = {// of c, for 1 / 16 of [1, 2) each; from 1.5 on of halves
                                         0x1p+0,    0x1.d4p-1, 0x1.bcp-1, 0x1.a4p-1, 0x1.9p-1,  0x1.7cp-1,
                                         0x1.6cp-1, 0x1.5cp-1, 0x1.4ep+0, 0x1.42p+0, 0x1.36p+0, 0x1.2ap+0,
                                         0x1.2p+0,  0x1.16p+0, 0x1.0cp+0, 0x1p+0};
  static constexpr double high[16] = {0,
                                      0x1.700d30aebp-4,
                                      0x1.23d712a49cp-3,
                                      0x1.95a5adcf7p-3,
                                      0x1.f991c6cb3cp-3,
                                      0x1.314f1e1d36p-2,
                                      0x1.5d5bddf596p-2,
                                      0x1.8b639a88b2p-2,
                                      -0x1.1058bf9ae4p-2,
                                      -0x1.d5c216b4fcp-3,
                                      -0x1.87fa06520cp-3,
                                      -0x1.371fc201e8p-3,
                                      -0x1.e27076e2bp-4,
                                      -0x1.51b073f06p-4,
                                      -0x1.77458f633p-5,
                                      0};
  static constexpr double low[16] = {0,
                                     -0x1.f8f85c959884bp-43,
                                     0x1.00d238fd3df5cp-46,
                                     0x1.7f22858a0ff6fp-47,
                                     -0x1.90d04cd7cc834p-44,
                                     -0x1.8e27ad3213cb8p-45,
                                     -0x1.a0b2a08a465dcp-47,
                                     0x1.be94786863ee4p-43,
                                     -0x1.5aa313f415699p-43,
                                     0x1.1ba91bbca681bp-45,
                                     -0x1.22120401202fcp-44,
                                     -0x1.ee8779b2d8abcp-44,
                                     0x1.a342c2af0003cp-45,
                                     -0x1.83f69278e686ap-44,
                                     0x1.181dce586af09p-44,
                                     0};
  const __m512d m = _mm512_getmant_pd(native(x), _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
  const __m512d n = _mm512_getexp_pd(native(x)), one = _mm512_set1_pd(1);
  const __m512i place = _mm512_srli_epi64(_mm512_castpd_si512(m), 48);
  const auto chosen = [&](const double* of) __attribute__((always_inline)) {
    return lanes_of(_mm512_permutex2var_pd(_mm512_loadu_pd(of), place, _mm512_loadu_pd(of + 8)));
  };
  return {lanes_of(_mm512_mask_add_pd(n, _mm512_cmp_pd_mask(m, one, _CMP_LT_OQ), n, one)),
          lanes_of(m) * chosen(inverse) - 1, chosen(high), chosen(low)};
}
static TENON_INLINE vd double_log_of(const DoubleLogLanes& parts) {
  const vd f = parts.f, series = double_polynomial(  // (log(1 + f) - f + f^2 / 2) / f^3
                            f, 0x1.48fb64872bd9dp-4, -0x1.98814dc5d25c2p-4, 0x1.c72e1ec9d7d41p-4,
                            -0x1.00005ec3d5091p-3, 0x1.24924829fe3fcp-3, -0x1.55555546a208bp-3,
                            0x1.99999999a11c2p-3, -0x1.000000000047bp-2, 0x1.5555555555555p-2);
  const vd low = parts.n * 0x1.a39ef35793c76p-33 + parts.log_c_low;
  const vd high = parts.n * 0x1.62e42feep-1 + parts.log_c;  // exact
  return high + (f + (f * f * (f * series - 0.5) + low));
}
static TENON_INLINE vd double_log_of_rest(const DoubleLogLanes& parts) {
  return double_log_of(DoubleLogLanes{vd{}, parts.f, parts.log_c, parts.log_c_low});
}
#endif

template <class V>
static TENON_INLINE V double_log(V x) {
  return double_log_or_special(x, double_log_of(double_log_parts(x)));
}
/// Of powers of two it is exact.
template <class V>
static TENON_INLINE V double_log2(V x) {
  const auto parts = double_log_parts(x);
  return double_log_or_special(x, double_log_of_rest(parts) * 0x1.71547652b82fep0 + parts.n);
}
template <class V>
static TENON_INLINE V double_log10(V x) {
  const auto parts = double_log_parts(x);
  const V low = parts.n * 0x1.ef3fde623e256p-35 + double_log_of_rest(parts) * 0x1.bcb7b1526e50ep-2;
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
