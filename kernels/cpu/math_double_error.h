// The error function and the gamma function's logarithm, in doubles without branches, as those of
// math_double.h. The coefficients of erf and erfc come from fit_math.py.
//
// Largest errors, as in math_double.h: erf 1.8 · erfc 3.7; of floats, lgamma 1.3 for x > 0
#pragma once
#include "kernels/cpu/math_double.h"

namespace tenon::cpu::TENON_ISA {

static TENON_INLINE double double_erf(double x) {
  const double magnitude = __builtin_fabs(x);
  const double near =
      x * double_horner(x * x, -0x1.ac9585a44fe29p-31, 0x1.d76af6ca49787p-27, -0x1.5c131500d3f88p-23,
                        0x1.b981d78881a5dp-20, -0x1.f4ca838adb73bp-17, 0x1.f9a2be4f731a1p-14,
                        -0x1.c02db0665e53dp-11, 0x1.565bccfa44156p-8, -0x1.b82ce31203772p-6,
                        0x1.ce2f21a040f66p-4, -0x1.812746b0379c1p-2, 0x1.20dd750429b6dp+0);
  const double clamped = magnitude > 6 ? 6 : magnitude;  // beyond it the result rounds to 1
  const double t = (clamped - 3) / (clamped + 3);
  const double scaled =  // erfc(x) exp(x^2)
      double_horner(t, 0x1.d0badb83f2cadp-29, 0x1.56695202d55bcp-20, 0x1.0e3fb74fdc507p-19,
                    -0x1.0cc37e8e915adp-17, -0x1.af086905fc57fp-17, 0x1.0cb2e63fe2177p-14,
                    0x1.7b9ef7977ceafp-15, -0x1.39085f2b38287p-11, 0x1.73101f6d2e434p-11,
                    0x1.17c839090a469p-8, -0x1.8fa58eb5ea92cp-6, 0x1.258b13b00ec66p-4, -0x1.336ffbef08b8ap-3,
                    0x1.f6ff204105a04p-3, -0x1.4e102b9cf8513p-2, 0x1.6e9827d229d2dp-3);
  const double far = 1 - double_exp_of_normal(-clamped * clamped) * scaled;
  return magnitude < 1 ? near : __builtin_copysign(far, x);
}

/// erfc(x) = exp(-x^2) / (1 + 2 x) times a smooth function; x^2 is a square that is exact and a rest.
static TENON_INLINE double double_erfc(double x) {
  const double magnitude = double_clamp(__builtin_fabs(x), 0, 28);  // beyond it the result is 0
  const double t = (magnitude - 3) / (magnitude + 3);
  const double scaled =
      double_horner(t, -0x1.08c0541a34a1dp-26, 0x1.89d482c35f998p-26, 0x1.e01239a37bc3ap-24,
                    -0x1.05551b9c7b495p-23, -0x1.522e923875db7p-21, 0x1.7240e039a3bd2p-22,
                    0x1.d34dda94a5cdcp-19, -0x1.8656688349170p-21, -0x1.514bf9e11f612p-16,
                    0x1.4c15c8ccdacffp-18, 0x1.065ac05cf2849p-13, -0x1.b912511ace570p-14,
                    -0x1.98db569ae9f33p-11, 0x1.ef1bdd1571101p-10, 0x1.4b884e6674be3p-9,
                    -0x1.8574c40ba6a70p-6, 0x1.17ca2877e25b3p-4, -0x1.e88b803a49709p-4, 0x1.098366a5b49a5p-3,
                    -0x1.85a15c58aa5bcp-5, -0x1.15c084bb9e8f8p-3, 0x1.40c522d7e4987p+0) /
      (1 + 2 * magnitude);
  const double high =
      __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, magnitude) & ~std::uint64_t{0x7ffffff});
  const double rest = (high - magnitude) * (high + magnitude);
  const double of_rest = double_horner(rest, 1.0 / 6, 0.5, 1, 1);
  const double far = double_exp(-high * high) * (scaled * of_rest);
  const double of_all = x < 0 ? 2 - far : far;
  return __builtin_fabs(x) < 0.5 ? 1 - double_erf(x) : of_all;
}

/// lgamma of floats, 0 < a[i] < infinity, by Stirling's series for x >= 8, and by
/// gamma(x) = gamma(x + 8) / (x (x + 1) ... (x + 7)) below: loops of few conditions, which become vector
/// code.
template <long Most>
static TENON_INLINE void lgamma_of_positive(float* out, const float* a, long n) {
  double shifted[Most], factors[Most];
  for (long i = 0; i < n; ++i) {
    const auto x = static_cast<double>(a[i]);
    const double product = x * (x + 1) * (x + 2) * (x + 3) * (x + 4) * (x + 5) * (x + 6) * (x + 7);
    shifted[i] = x < 8 ? x + 8 : x;
    factors[i] = x < 8 ? product : 1;
  }
  for (long i = 0; i < n; ++i) factors[i] = double_log(factors[i]);
  for (long i = 0; i < n; ++i) {
    const double x = shifted[i], inverse = 1 / x;
    const double series = inverse * double_horner(inverse * inverse, 1.0 / 156, -691.0 / 360360, 1.0 / 1188,
                                                  -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12);
    constexpr double half_log_two_pi = 0x1.d67f1c864beb5p-1;
    shifted[i] = (x - 0.5) * double_log(x) - x + half_log_two_pi + series;
  }
  for (long i = 0; i < n; ++i) {
    const auto result = static_cast<float>(shifted[i] - factors[i]);
    out[i] = a[i] == 1 || a[i] == 2 ? 0 : result;  // its zeros
  }
}

}  // namespace tenon::cpu::TENON_ISA
