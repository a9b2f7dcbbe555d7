// Modified Bessel functions I and K of the orders 0 and 1 in doubles without branches, as the functions of
// math_double.h. The coefficients that are no power series come from fit_special.py.
//
// Largest errors, as there: i0, i0e, i1, i1e 4 · k0, k0e, k1, k1e 3
#pragma once
#include <array>

#include "kernels/cpu/math_double.h"

namespace tenon::cpu::TENON_ISA {

/// 1 / (k! (k + order)!), the coefficients of I_order(x) = (x/2)^order sum of c_k (x^2/4)^k (DLMF 10.25.2).
template <int order, int count>
constexpr std::array<double, count> bessel_series = [] {
  std::array<double, count> c{};
  double term = 1;
  for (int k = 0; k < count; ++k, term /= static_cast<double>(k) * (k + order))
    c[static_cast<std::size_t>(k)] = term;
  return c;
}();
/// The same times (psi(k + 1) + psi(k + order + 1)) / 2: what K has beside log(x / 2) I and 1 / x
/// (DLMF 10.31.1 and 10.31.2).
template <int order, int count>
constexpr std::array<double, count> bessel_k_series = [] {
  std::array<double, count> c = bessel_series<order, count>;
  double psi = -0.57721566490153286061;
  for (int k = 0; k < count; psi += 1.0 / ++k)
    c[static_cast<std::size_t>(k)] *= order == 0 ? psi : psi + 0.5 / (k + 1);
  return c;
}();
/// The sum of c_k z^k.
template <std::size_t count>
static TENON_INLINE double double_series(double z, const std::array<double, count>& c) {
  double sum = 0;
  const auto add = [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    ((sum = sum * z + c[count - 1 - I]), ...);
  };
  add(std::make_index_sequence<count>{});
  return sum;
}

/// Where the power series of I ends.
constexpr double bessel_i_far = 8;
/// I_order(x), or exp(-|x|) times that, for |x| <= bessel_i_far: all terms have one sign.
template <int order, bool scaled>
static TENON_INLINE double double_bessel_i_near(double x) {
  const double sum = double_series(0.25 * x * x, bessel_series<order, 26>);
  const double value = order == 1 ? 0.5 * x * sum : sum;
  return scaled ? value * double_exp_of_normal(-__builtin_fabs(x)) : value;
}
/// The scaled one for results of f32 and |x| <= bessel_ie_far.
constexpr double bessel_ie_far = 10;
template <int order>
static TENON_INLINE double double_bessel_ie_for_f32(double x) {
  const double t = 0.2 * __builtin_fabs(x) - 1;
  if constexpr (order == 0)
    return double_polynomial(
        t, 0x1.5bbce7ccc0982p-13, -0x1.add9d86f94d45p-12, 0x1.b0b35119f4b80p-16, 0x1.9bed5cea22eb7p-14,
        0x1.d387195289bc3p-10, -0x1.e6e59dfad70a4p-9, 0x1.1161e1dc74212p-8, -0x1.bb13c1cad2b42p-8,
        0x1.a934615b58a90p-7, -0x1.497b703466928p-6, 0x1.c929be34447bfp-6, -0x1.344dc8d5f06e7p-5,
        0x1.8ab94f09d385dp-5, -0x1.d7b0983e40ba9p-5, 0x1.090eb8d7ee0ddp-4, -0x1.1abd3865bdf64p-4,
        0x1.2155677d4aeb6p-4, -0x1.2114685d9d404p-4, 0x1.20e7dd37f7853p-4, -0x1.2910058593611p-4,
        0x1.44be3962586a4p-4, -0x1.90c3897d46b4fp-4, 0x1.77e43edd1b4cap-3);
  return x * double_polynomial(
                 t, 0x1.459fa12f9ca0dp-16, -0x1.a722527935a60p-15, 0x1.001bf6ea66f58p-16,
                 -0x1.380d1c3dec1cep-16, 0x1.20e3fe6891652p-12, -0x1.3b105c0d22642p-11, 0x1.cc1a9f9c02cb6p-11,
                 -0x1.a5a8f2e5c521ap-10, 0x1.99642f1b2ac20p-9, -0x1.5defce8e578a5p-8, 0x1.16444087b8988p-7,
                 -0x1.a99f3cc456116p-7, 0x1.355d172767477p-6, -0x1.a8c834c54d40cp-6, 0x1.13e80a646c36ap-5,
                 -0x1.537dfcc346073p-5, 0x1.8c0940b0eae67p-5, -0x1.b6a8e3e1a31e3p-5, 0x1.cde86f38261f6p-5,
                 -0x1.cdf9e7214b561p-5, 0x1.b399d95497df3p-5, -0x1.78ffb1433a6a9p-5, 0x1.0ca6f41975369p-5);
}
/// Both for bessel_i_far <= |x| < infinity.
template <int order, bool scaled>
static TENON_INLINE double double_bessel_i_far(double x) {
  const double m = __builtin_fabs(x), inverse = 16 / m, t = inverse - 1;
  const double scale = (order == 1 ? __builtin_copysign(0.25, x) : 0.25) * __builtin_sqrt(inverse);
  double share;
  if constexpr (order == 0)
    share = scale * double_horner(t, -0x1.36e52c10032d7p-34, -0x1.52109c25bd9ecp-36, 0x1.1ce14787c5bdep-31,
                                  0x1.42a55974d41b8p-33, -0x1.e8fd992032bedp-30, -0x1.31c908a5dd531p-31,
                                  0x1.0ab5ef575d285p-28, 0x1.9bbbfe31d81e9p-30, -0x1.a9411c5b0ad08p-28,
                                  -0x1.df1549cddfaf8p-29, 0x1.047454ffcb608p-27, 0x1.0317d4c7b215ap-27,
                                  -0x1.77cc956faaa2fp-28, -0x1.cc90f59ec1228p-27, -0x1.ce768f00b5374p-28,
                                  0x1.03896efb09a41p-27, 0x1.7224b1828e507p-26, 0x1.51ced7b713adcp-25,
                                  0x1.7d0f75812d9bcp-24, 0x1.3f49a6bcfc2d9p-22, 0x1.8e513a1d5e52bp-20,
                                  0x1.75e5ee71edd14p-17, 0x1.1daa72b5e650cp-13, 0x1.b87969bb93b75p-9,
                                  0x1.9bd428ad249a5p-2);
  else
    share = scale * double_horner(t, 0x1.432b0a4121172p-34, 0x1.33e83e12ca3b4p-36, -0x1.2839623e2341cp-31,
                                  -0x1.272ae05110368p-33, 0x1.fce6b32270b52p-30, 0x1.1aee882806184p-31,
                                  -0x1.162964d5f91dbp-28, -0x1.858c7591014bdp-30, 0x1.bdc8daed57db9p-28,
                                  0x1.d4345a69bfc30p-29, -0x1.1465ce7d29637p-27, -0x1.0630cddd4e099p-27,
                                  0x1.9f203cf2783b7p-28, 0x1.e20e7d69649cap-27, 0x1.cd81846fb3ff1p-28,
                                  -0x1.21895bb7ba33fp-27, -0x1.9180f82a1d429p-26, -0x1.727a73a8063a8p-25,
                                  -0x1.ad8db6e1fecbbp-24, -0x1.76137e6905189p-22, -0x1.ec8e101744487p-20,
                                  -0x1.f89c23066d278p-17, -0x1.cbc54df1ece76p-13, -0x1.3f796198ee628p-7,
                                  0x1.8ebe783a84030p-2);
  if constexpr (scaled) return share;
  const double root = double_exp(0.5 * m);  // the exponential may be too large where the product is not
  return root * share * root;
}

/// K_order(x), or exp(x) times that, for 0 < x <= 1.
template <int order, bool scaled>
static TENON_INLINE double double_bessel_k_near(double x) {
  const double z = 0.25 * x * x, log_half = double_log(0.5 * x);
  const double of_log = log_half * double_series(z, bessel_series<order, 10>);
  const double rest = double_series(z, bessel_k_series<order, 10>);
  const double value = order == 0 ? rest - of_log : 1 / x + 0.5 * x * (of_log - rest);
  return scaled ? value * double_exp_of_normal(x) : value;
}
/// Both for 1 <= x < infinity.
template <int order, bool scaled>
static TENON_INLINE double double_bessel_k_far(double x) {
  const double t = (x - 3) / (x + 1);
  double share;
  if constexpr (order == 0)
    share = double_horner(
        t, 0x1.77387c8f7f224p-38, 0x1.4b9c7165bb96ep-37, -0x1.365e1bb94f93dp-36, -0x1.fb824d68e47aap-36,
        0x1.5e952b3d6f2bcp-35, 0x1.690048cc29b4bp-34, -0x1.7ab66db365c4cp-35, 0x1.0718c01049a3cp-34,
        -0x1.289f9d553920bp-33, 0x1.322ac85798944p-30, -0x1.3f453bce0ce59p-29, 0x1.57caef6743845p-27,
        -0x1.d2d9cdf1d311dp-26, 0x1.bae2cf4dd5390p-24, -0x1.4cee8d1ab66cfp-22, 0x1.2df9f69e7e767p-20,
        -0x1.e1ff11d9af459p-19, 0x1.b4900cd20fd19p-17, -0x1.6d1e88d70af0bp-15, 0x1.55615cf21ad97p-13,
        -0x1.2d443242279f0p-11, 0x1.334777d99b761p-9, -0x1.287ae72aabd73p-7, 0x1.a932e00d70332p-5,
        0x1.356417a9f2ee9p+0);
  else
    share = double_horner(
        t, -0x1.54c3aad7dccc0p-38, -0x1.c3139ed77f6bap-37, 0x1.7beee7f1befe7p-36, 0x1.8d34216bc2a42p-36,
        -0x1.275004b883b6ep-39, -0x1.d4b2674289e1cp-33, 0x1.bcfe5f9139373p-32, -0x1.4188b0b7a652cp-30,
        0x1.ea18f375bef13p-29, -0x1.9401137e71782p-27, 0x1.2d1f7fbe2fc53p-25, -0x1.df3088b62fd4bp-24,
        0x1.6eb71ab6332acp-22, -0x1.22763223c9a32p-20, 0x1.c2c0e752709b3p-19, -0x1.6621ff96308c2p-17,
        0x1.197da2886a340p-15, -0x1.c3cd0b596e0dcp-14, 0x1.68d7d91795432p-12, -0x1.276b51f26629fp-10,
        0x1.e4076193aa1f5p-9, -0x1.9e097c3c6070ep-7, 0x1.6595f9d3a06d4p-5, -0x1.6b98e74488340p-3,
        0x1.65a260862b35ep+0);
  share *= __builtin_sqrt(1 / x);
  return scaled ? share : share * double_exp(-x);
}

}  // namespace tenon::cpu::TENON_ISA
