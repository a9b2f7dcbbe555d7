// The error function, its inverse and the gamma function's logarithm and its derivative, in doubles without
// branches, as those of math_double.h. The coefficients of erf, erfc and erfinv come from fit_math.py.
//
// Largest errors, as in math_double.h: erf 1.8 · erfc 4.3 · erfinv 2.5; lgamma 4 for x > 0
// (below 0, and digamma: 1e-15 beside their zeros)
#pragma once
#include "kernels/cpu/math_double.h"
#include "kernels/cpu/math_double_angles.h"

namespace tenon::cpu::TENON_ISA {

/// erf(x) for |x| < 1.
template <class V>
static TENON_INLINE V double_erf_near(V x) {
  return x * double_horner(x * x, -0x1.ac9585a44fe29p-31, 0x1.d76af6ca49787p-27, -0x1.5c131500d3f88p-23,
                           0x1.b981d78881a5dp-20, -0x1.f4ca838adb73bp-17, 0x1.f9a2be4f731a1p-14,
                           -0x1.c02db0665e53dp-11, 0x1.565bccfa44156p-8, -0x1.b82ce31203772p-6,
                           0x1.ce2f21a040f66p-4, -0x1.812746b0379c1p-2, 0x1.20dd750429b6dp+0);
}
template <class V>
static TENON_INLINE V double_erf(V x) {
  const V magnitude = magnitude_of(x), near = double_erf_near(x);
  const V clamped = double_clamp(magnitude, 0, 6);  // beyond it the result rounds to 1
  const V t = double_quotient(clamped - 3, clamped + 3);
  const V scaled =  // erfc(x) exp(x^2)
      double_horner(t, 0x1.d0badb83f2cadp-29, 0x1.56695202d55bcp-20, 0x1.0e3fb74fdc507p-19,
                    -0x1.0cc37e8e915adp-17, -0x1.af086905fc57fp-17, 0x1.0cb2e63fe2177p-14,
                    0x1.7b9ef7977ceafp-15, -0x1.39085f2b38287p-11, 0x1.73101f6d2e434p-11,
                    0x1.17c839090a469p-8, -0x1.8fa58eb5ea92cp-6, 0x1.258b13b00ec66p-4, -0x1.336ffbef08b8ap-3,
                    0x1.f6ff204105a04p-3, -0x1.4e102b9cf8513p-2, 0x1.6e9827d229d2dp-3);
  const V far = 1 - double_exp_of_normal(-clamped * clamped) * scaled;
  return choose(magnitude < 1, near, signed_as(far, x));
}

/// erfc(x) = exp(-x^2) / (1 + 2 x) times a smooth function; x^2 is a square that is exact and a rest.
template <class V>
static TENON_INLINE V double_erfc(V x) {
  const V magnitude = double_clamp(magnitude_of(x), 0, 28);  // beyond it the result is 0
  const V t = double_quotient(magnitude - 3, magnitude + 3);
  const V smooth = double_horner(
      t, -0x1.08c0541a34a1dp-26, 0x1.89d482c35f998p-26, 0x1.e01239a37bc3ap-24, -0x1.05551b9c7b495p-23,
      -0x1.522e923875db7p-21, 0x1.7240e039a3bd2p-22, 0x1.d34dda94a5cdcp-19, -0x1.8656688349170p-21,
      -0x1.514bf9e11f612p-16, 0x1.4c15c8ccdacffp-18, 0x1.065ac05cf2849p-13, -0x1.b912511ace570p-14,
      -0x1.98db569ae9f33p-11, 0x1.ef1bdd1571101p-10, 0x1.4b884e6674be3p-9, -0x1.8574c40ba6a70p-6,
      0x1.17ca2877e25b3p-4, -0x1.e88b803a49709p-4, 0x1.098366a5b49a5p-3, -0x1.85a15c58aa5bcp-5,
      -0x1.15c084bb9e8f8p-3, 0x1.40c522d7e4987p+0);
  const V scaled = double_quotient(smooth, 1 + 2 * magnitude);
  const V high = double_of_bits(bits_of(magnitude) & ~std::uint64_t{0x7ffffff});
  const V rest = (high - magnitude) * (high + magnitude);
  const V of_rest = double_horner(rest, 1.0 / 6, 0.5, 1, 1);
  const V far = double_exp(-high * high) * (scaled * of_rest);
  const V of_all = choose(x < 0, 2 - far, far);
  return choose(magnitude_of(x) < 0.5, 1 - double_erf_near(x), of_all);
}

/// erfinv(x) where w = -log(1 - x^2) is up to nearest_erfinv, as M. Giles, Approximating the erfinv function
/// (2010), does.
constexpr double nearest_erfinv = 6.25;
constexpr double nearest_erfinv_argument = 0x1.ff816cp-1;  // where w is less than that
template <class V>
static TENON_INLINE V double_erfinv_log(V x) {
  return -double_log((1 - x) * (1 + x));
}
template <class V>
static TENON_INLINE V double_erfinv_near(V x, V w) {
  const V share = double_horner(
      w - 3.125, 0x1.e9b8ae7230c25p-69, -0x1.5087a244b0f6cp-70, -0x1.9d290dd3bcb70p-62, 0x1.536d397f9b9b1p-60,
      0x1.1f4ba5de5dc3fp-56, -0x1.2c266176e7096p-53, -0x1.73898c37dc54ap-55, 0x1.db523eb040288p-48,
      -0x1.686642b67610ap-45, -0x1.6d9ec5e3ec6afp-44, 0x1.723527b7cff86p-39, -0x1.c89564c5d1004p-37,
      -0x1.dc3ee8b6c53ccp-35, 0x1.20f4e6bf074cfp-30, -0x1.1a9eb1bc8f0f0p-28, -0x1.f36ce4ae847fdp-26,
      0x1.c6b4f890935ddp-22, -0x1.6e8a53f106129p-20, -0x1.d1d1f7ca4030fp-17, 0x1.879c2a20da432p-13,
      -0x1.84576948353e1p-11, -0x1.8b6c33114eeaep-8, 0x1.ebd80d9b13df9p-3, 0x1.a755e7c99ae86p+0);
  return x * share;
}
/// The same for larger w, and what lies on and beyond the ends.
template <class V>
static TENON_INLINE V double_erfinv_far(V x, V w) {
  const V root = root_of(w);
  const V middle = double_horner(root - 3.25, -0x1.03765b5ec5c93p-26, 0x1.7f235c757454ep-31,
                                 0x1.1969ef2a93940p-23, -0x1.235ac6aaf025ep-22, -0x1.cfedcff902170p-26,
                                 0x1.924ec74d8058bp-20, -0x1.0b8068913d37bp-18, 0x1.88af4a1d56a98p-19,
                                 0x1.a242f876789c6p-17, -0x1.8cf0bea0971c6p-15, 0x1.1e6ab36be6c27p-14,
                                 0x1.932d7684a6a52p-16, -0x1.7448bc8217f18p-12, 0x1.f3cc552091e2bp-11,
                                 -0x1.ba9240d9b7431p-10, 0x1.468eeca71fc73p-9, -0x1.ebadabb9fd945p-9,
                                 0x1.5ffcfe5b71831p-8, 0x1.0158a6d641d54p+0, 0x1.8abcc380d5a48p+1);
  const V far = double_horner(
      root - 5, -0x1.5a60cd00c0f4dp-36, 0x1.7934134aef5eap-35, 0x1.244ceff7a33cdp-34, -0x1.e10f234323a88p-32,
      0x1.6b50dffc6876dp-30, -0x1.dd21cff5a1426p-29, 0x1.0c8ba21edd728p-27, -0x1.0612a3c946ff2p-26,
      0x1.f2980d5ee3284p-26, -0x1.2227296c17024p-24, 0x1.ebe27ddf44c79p-23, -0x1.0a9073bca0b22p-20,
      0x1.2fbcfe7a995a5p-18, -0x1.4a348fc2c46d2p-16, 0x1.3ebf4ef9a4d2ep-14, -0x1.c2f36aa248aeap-13,
      -0x1.22ea5df1c5059p-13, 0x1.02a30d1fba10dp+0, 0x1.3664ddd1ad7fbp+2);
  const V share = choose(root < 4, middle, far);
  return x * choose(magnitude_of(x) == 1, V{} + __builtin_inf(), share);
}
/// Few numbers are far: a piece, or a vector, without them does without the other polynomials.
static TENON_INLINE void erfinv_of_doubles(double* out, const double* a, long n) {
  long others = 0;
  for (long i = 0; i < n; ++i) others += __builtin_fabs(a[i]) < nearest_erfinv_argument ? 0 : 1;
  if (others == 0) {
    for (long i = 0; i < n; ++i) out[i] = double_erfinv_near(a[i], double_erfinv_log(a[i]));
    return;
  }
  for (long i = 0; i < n; ++i) {
    const double x = a[i], w = double_erfinv_log(x);
    const double near = double_erfinv_near(x, w), far = double_erfinv_far(x, w);
    out[i] = __builtin_fabs(x) < nearest_erfinv_argument ? near : far;
  }
}
#if defined(__AVX512F__)
static TENON_INLINE vd double_erfinv(vd x) {
  const vd w = double_erfinv_log(x), near = double_erfinv_near(x, w);
  const auto is_near = magnitude_of(x) < nearest_erfinv_argument;
  if (_mm512_movepi64_mask(reinterpret_cast<__m512i>(is_near)) == 0xff) return near;
  return choose(is_near, near, double_erfinv_far(x, w));
}
#endif

/// The derivative of lgamma for x > 0: the sum of 1 / (x + k) below 10, then the asymptotic series.
static TENON_INLINE double double_digamma_of_positive(double x) {
  const double all = x + 9;  // (x + k)(x + 9 - k) = x (x + 9) + k (9 - k)
  const double product = x * all, sum = x + all;
  const double below =
      sum *
      (((1 / product + 1 / (product + 8)) + (1 / (product + 14) + 1 / (product + 18))) + 1 / (product + 20));
  const bool is_small = x < 10;
  const double at = is_small ? x + 10 : x, inverse = 1 / at, s = inverse * inverse;
  const double series =
      s * double_horner(s, 1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12);
  return double_log(at) - 0.5 * inverse - series - (is_small ? below : 0);
}

inline constexpr double double_pi = 2 * double_half_pi;

/// From the nearest whole number; of a whole one 0.
static TENON_INLINE double double_from_whole(double x) { return x - __builtin_rint(x); }

/// Of x = -0, 0, -1, -2, ...
static TENON_INLINE double double_digamma_of_pole(double x) { return x == 0 ? -1 / x : __builtin_nan(""); }
/// pi / tan(pi r), for 0 < |r| <= 1/2: its poles at 0 and 1, and a series.
static TENON_INLINE double double_cotangent_of_pi(double r) {
  const double z = r * r;
  const double rest = double_horner(z, 0x1.55aabe9f4febcp-17, 0x1.eba4e54942c2dp-16, 0x1.01943d82a77b3p-13,
                                    0x1.0203cabf037bbp-11, 0x1.04b8f34a4d053p-9, 0x1.0b36af1359baap-7,
                                    0x1.1c261302fcc47p-5, 0x1.51322ac7d7dc3p-3, 0x1.4a34cc4a60fa7p+0);
  return (1 - 3 * z) / (r - r * z) - r * rest;
}
/// The same for every finite x that is 0 or no less than 2^-500 in magnitude: psi(x) = psi(1 - x) - pi /
/// tan(pi x).
static TENON_INLINE double double_digamma(double x) {
  const double rest = double_from_whole(x);
  const double above = double_digamma_of_positive(x > 0 ? x : 1 - x);
  const double below = above - double_cotangent_of_pi(rest);
  return x > 0 ? above : rest == 0 ? double_digamma_of_pole(x) : below;
}

/// lgamma(x) for 3/4 <= x < 9/4, whose zeros are those of its factors.
static TENON_INLINE double double_lgamma_near(double x) {
  const double share = double_horner(
      x - 1.5, -0x1.eee06d087ad6bp-20, 0x1.7ec51f42a97e7p-19, 0x1.7d9428dccb5ap-19, -0x1.2630f80df0a89p-18,
      -0x1.9254dd67ba2c7p-18, 0x1.37c5d9ba8a49p-17, -0x1.44fa181e321c6p-20, 0x1.0848bdc179238p-19,
      -0x1.97aae221eedb2p-17, 0x1.4020509a94158p-16, -0x1.b2413b422f511p-16, 0x1.57c3ba599b084p-15,
      -0x1.16a6807261051p-14, 0x1.bbce9ef8b5317p-14, -0x1.6227c29186117p-13, 0x1.1c6c2346e9a99p-12,
      -0x1.cb46026fffac7p-12, 0x1.750b5b2612c7ap-11, -0x1.313e85a829eebp-10, 0x1.f814b398e7d35p-10,
      -0x1.a5035248e5ae5p-9, 0x1.64f0665d8a681p-8, -0x1.34dbda147a9aep-7, 0x1.13342352690c7p-6,
      -0x1.007aa83cee296p-5, 0x1.01af62a292a75p-4, -0x1.2aed059bd608ap-3, 0x1.eeb95b094c191p-2);
  return (x - 1) * (x - 2) * share;
}

/// A number of double_lgamma_near, and the factor between its gamma function and that of x; for x < 3/4 the
/// factor's inverse.
struct GammaFactor {
  double near, factor;
};
constexpr double least_far_gamma = 10.25;
/// For 0 < x < least_far_gamma, by gamma(x + 1) = x gamma(x).
static TENON_INLINE GammaFactor double_gamma_factor(double x) {
  double near = x < 0.75 ? x + 1 : x, factor = x < 0.75 ? x : 1;
  for (int step = 0; step < 8; ++step) {
    const bool is_above = near >= 2.25;
    near = is_above ? near - 1 : near;
    factor = is_above ? factor * near : factor;
  }
  return {near, factor};
}
/// lgamma(x) for 2^-500 <= x < infinity: from least_far_gamma on by Stirling's series, and below from where
/// double_lgamma_near has it.
static TENON_INLINE double double_lgamma_of_positive(double x) {
  const auto [near, factor] = double_gamma_factor(x);
  const bool is_far = x >= least_far_gamma;
  const double logarithm = double_log(is_far ? x : factor);
  const double below = double_lgamma_near(near) + (x < 0.75 ? -logarithm : logarithm);
  const double inverse = 1 / x;
  const double series = inverse * double_horner(inverse * inverse, 1.0 / 156, -691.0 / 360360, 1.0 / 1188,
                                                -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12);
  constexpr double half_log_two_pi = 0x1.d67f1c864beb5p-1;
  const double far = (x - 0.5) * logarithm - x + (half_log_two_pi + series);
  return is_far ? far : below;
}

/// |sin(pi x)|
static TENON_INLINE double double_sine_of_pi(double x) {
  const double r = double_from_whole(x);
  return __builtin_fabs(r) * double_horner(r * r, 0x1.9d462020fcc78p-21, -0x1.6f7acdb8f6580p-16,
                                           0x1.e8f3675ee37ddp-12, -0x1.e3074dfaf87afp-8, 0x1.5078348551854p-4,
                                           -0x1.32d2cce627c86p-1, 0x1.466bc6775aa7dp+1, -0x1.4abbce625be52p+2,
                                           0x1.921fb54442d18p+1);
}
/// The same for every finite x that is 0 or no less than 2^-500 in magnitude: gamma(x) gamma(1 - x) = pi /
/// sin(pi x).
static TENON_INLINE double double_lgamma(double x) {
  const double above = double_lgamma_of_positive(x > 0 ? x : 1 - x);
  return x > 0 ? above : double_log(double_pi / double_sine_of_pi(x)) - above;
}
/// The same where 1 - least_far_gamma < x < least_far_gamma, by one logarithm.
static TENON_INLINE double double_lgamma_of_small_positive(double x) {
  const auto [near, factor] = double_gamma_factor(x);
  const double logarithm = double_log(factor);
  return double_lgamma_near(near) + (x < 0.75 ? -logarithm : logarithm);
}
static TENON_INLINE double double_lgamma_of_small(double x) {
  const auto [near, factor] = double_gamma_factor(x > 0 ? x : 1 - x);
  const double inverse_pi = 0x1.45f306dc9c883p-2;
  const double logarithm = double_log(x > 0 ? factor : double_sine_of_pi(x) * factor * inverse_pi);
  const double of_near = double_lgamma_near(near);
  const double above = of_near + (x < 0.75 ? -logarithm : logarithm);
  return x > 0 ? above : -(logarithm + of_near);
}

}  // namespace tenon::cpu::TENON_ISA
