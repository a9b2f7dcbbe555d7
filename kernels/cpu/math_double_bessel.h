// Bessel functions J and Y of the orders 0 and 1, and the spherical one, in doubles without branches, as the
// functions of math_double.h. The coefficients come from fit_special.py.
//
// Largest errors, as there: j0, j1, y0, y1 8 of the larger one of the result and sqrt(1 / |x|) (of j1 below
// 1/2: of the result) · spherical_j0 2
#pragma once
#include "kernels/cpu/math_double.h"
#include "kernels/cpu/math_double_angles.h"

namespace tenon::cpu::TENON_ISA {

struct DoubleTurn {
  double sine, cosine;
};
/// Of x + low, |x| <= largest_double_angle.
static TENON_INLINE DoubleTurn double_turn(double x, double low = 0) {
  const double sum = x * 0x1.45f306dc9c883p-1 + double_magic;
  DoubleRest<double> rest = double_rest(x, sum - double_magic);
  const double high = rest.r + low;
  rest = {high, rest.low + (low - (high - rest.r))};
  return {double_sin_of_quadrant(bits_of(sum), rest), double_sin_of_quadrant(bits_of(sum) + 1, rest)};
}

/// sin(x) / x
static TENON_INLINE double double_spherical_j0(double x) { return x == 0 ? 1 : double_sin(x) / x; }

/// From here on J and Y are parts of a wave (DLMF 10.17.3 and 10.17.4).
constexpr double bessel_wave = 8;

/// J_order(x) for |x| <= bessel_wave.
template <int order>
static TENON_INLINE double double_bessel_j_near(double x) {
  const double z = x * x * 0x1p-5 - 1;
  if constexpr (order == 0)
    return double_horner(z, -0x1.9a0777364c030p-47, 0x1.c2c89e05a971ap-42, -0x1.b3bef5357b4f9p-37,
                         0x1.71d0a205ca76cp-32, -0x1.0ff8a9a497f9fp-27, 0x1.56a7a3316688ap-23,
                         -0x1.6cc5264a6ec82p-19, 0x1.42bc90333e42cp-15, -0x1.d11773b361d3dp-12,
                         0x1.09f3448afe768p-8, -0x1.d27f3cd0c2e4dp-6, 0x1.2afc33916d950p-3,
                         -0x1.03d2da095b4e5p-1, 0x1.09d33c82734c7p+0, -0x1.9dbdd0f268edep-1,
                         -0x1.4c042a76a3d9ap-1, 0x1.dc5071f1209f4p-1, 0x1.776fc5f84e280p-5);
  return x * double_horner(z, -0x1.754bd6eb5f1a1p-52, 0x1.b3c9bcacde2d6p-47, -0x1.c153538fa6d2cp-42,
                           0x1.9882e6310da7dp-37, -0x1.439726dff7834p-32, 0x1.b9f413c37f574p-28,
                           -0x1.00fdba22b4c2dp-23, 0x1.f58f14a645713p-20, -0x1.936bb4404efbfp-16,
                           0x1.059d3114e70f5p-12, -0x1.09f3448afe526p-9, 0x1.982f5536aa883p-7,
                           -0x1.c07a4d5a245fdp-5, 0x1.44c7908bb221ep-3, -0x1.09d33c82734c7p-2,
                           0x1.364e5cb5ceb27p-3, 0x1.4c042a76a3d9ap-4, -0x1.dc5071f1209f4p-5);
}
/// Y_order(x) for 0 < x <= bessel_wave: 2 / pi (log(x / 2) J(x) - order / x) and an entire function.
template <int order>
static TENON_INLINE double double_bessel_y_near(double x) {
  constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
  const double z = x * x * 0x1p-5 - 1;
  const double of_log = double_log(0.5 * x) * double_bessel_j_near<order>(x);
  if constexpr (order == 0)
    return two_over_pi * of_log +
           double_horner(z, 0x1.7247c37d46c95p-46, -0x1.8e31f4580b16dp-41, 0x1.77a67dd8c71bbp-36,
                         -0x1.36682baafe8a2p-31, 0x1.bb2df9e2f4179p-27, -0x1.0dfb9859e2227p-22,
                         0x1.14a05a1efd459p-18, -0x1.d43ce57d773b3p-15, 0x1.400b23eceac97p-11,
                         -0x1.571530a3c5c95p-8, 0x1.14e9baa57e02dp-5, -0x1.3c7dc9b8c3442p-3,
                         0x1.cb0102d915ec2p-2, -0x1.3d1a3c2cf3e27p-1, -0x1.b31e39bdf5ea5p-3,
                         0x1.5c66ef4d2f665p+0, -0x1.abf36a4259870p-2, -0x1.72b74bbdd8607p-2);
  return two_over_pi * (of_log - 1 / x) +
         x * double_horner(z, 0x1.54a652ccdc2ffp-51, -0x1.855cda808224ap-46, 0x1.884058ff18126p-41,
                           -0x1.5bb18d59baa8ep-36, 0x1.0bca244f2684fp-31, -0x1.626f1eb0327ffp-27,
                           0x1.8dcddfd5779e9p-23, -0x1.74a8015cfe1c5p-19, 0x1.1dbf18b2fad5bp-15,
                           -0x1.5deef8649f1bap-12, 0x1.4b3c8c2a8d236p-9, -0x1.cf132a67686f3p-7,
                           0x1.bd90575895a2bp-5, -0x1.02e87689eed2ep-3, 0x1.eda6c04165176p-4,
                           0x1.719265d0c16f7p-4, -0x1.a92eafb5bfbebp-3, 0x1.717b235185ceep-5);
}

/// J or Y for bessel_wave <= |x| <= largest_double_angle; Y of x > 0.
template <int order, bool second>
static TENON_INLINE double double_bessel_far(double x) {
  const double m = __builtin_fabs(x), inverse = bessel_wave / m, s = inverse * inverse;
  const DoubleTurn turn = double_turn(m);
  const double sum = turn.cosine + turn.sine, difference = turn.sine - turn.cosine;
  const double scale = __builtin_sqrt(inverse * 0x1.45f306dc9c883p-5);  // 1 / sqrt(pi m)
  double p, q;
  if constexpr (order == 0) {
    p = double_horner(s, 0x1.22b44c20d0316p-33, -0x1.13ad48ecc8f38p-30, 0x1.ed51b593c205cp-29,
                      -0x1.1d9db2333be9ep-27, 0x1.fe16d5457b051p-27, -0x1.9f8175e09f1e0p-26,
                      0x1.74be8a2fde700p-25, -0x1.b75a457f865c8p-24, 0x1.84b6e1ac85bdep-22,
                      -0x1.251ed77e459fdp-19, 0x1.cb5fffe8ced26p-16, -0x1.1ffffffffe5fbp-10,
                      0x1.0000000000000p+0);
    q = 0.125 * inverse *
        double_horner(s, 0x1.b76054a4a9600p-31, -0x1.b1cf35ddcbde5p-28, 0x1.8fa90e5dbde03p-26,
                      -0x1.d08aee68d2762p-25, 0x1.8afcde2776612p-24, -0x1.160c156cc7583p-23,
                      0x1.755c78938b787p-23, -0x1.19413d1635b35p-22, 0x1.13523bc3ee995p-21,
                      -0x1.8611859d3ed27p-20, 0x1.ba4c423935460p-18, -0x1.d11dffe3e7222p-15,
                      0x1.2bfffffffc9b3p-10, -0x1.fffffffffffffp-4);
    return scale * (second ? p * difference + q * sum : p * sum - q * difference);
  }
  p = double_horner(s, -0x1.34b5237c76148p-33, 0x1.24f56427a91cbp-30, -0x1.066be6e626b36p-28,
                    0x1.3074e873ea25dp-27, -0x1.10cee152b48afp-26, 0x1.bf32407aeede0p-26,
                    -0x1.955f98cefc9bcp-25, 0x1.e5a2972c2dbc8p-24, -0x1.b88b7980b86cfp-22,
                    0x1.5a6a468cdbcffp-19, -0x1.274ffff3bd687p-15, 0x1.dffffffffe47ep-10,
                    0x1.0000000000000p+0);
  q = 0.125 * inverse *
      double_horner(s, -0x1.d03cbf5a70a98p-31, 0x1.ca91b879ca453p-28, -0x1.a6c4c8f19dcbep-26,
                    0x1.ebf4530296e64p-25, -0x1.a315ddb6ce860p-24, 0x1.27fb6b1f9c351p-23,
                    -0x1.8fb48277a50afp-23, 0x1.2fde7762873adp-22, -0x1.2d8ea782b57b1p-21,
                    0x1.b3f5ccdf4c332p-20, -0x1.fe57ffffe6400p-18, 0x1.1c3cfff1360bep-14,
                    -0x1.a3fffffffc6d6p-10, 0x1.8000000000000p-2);
  if constexpr (second) return scale * (q * difference - p * sum);
  return __builtin_copysign(scale, x) * (p * difference + q * sum);
}

}  // namespace tenon::cpu::TENON_ISA
