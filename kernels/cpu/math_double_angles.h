// Angles of doubles without branches, as the functions of math_double.h. The coefficients come from
// fit_math.py.
//
// Largest errors, as in math_double.h: sin, cos 1.1 · tan 1.8 · atan 2.3 · atan2 2.5 · asin 2.1 · acos 1.1
#pragma once
#include "kernels/cpu/math_double.h"

namespace tenon::cpu::TENON_ISA {

inline constexpr double largest_double_angle = 1e6;
/// A number as r + low.
template <class V>
struct DoubleRest {
  V r, low;
};
/// x - n pi / 2, for |x| <= largest_double_angle.
template <class V>
static TENON_INLINE DoubleRest<V> double_rest(V x, V n) {
  // pi / 2 in pieces of 33 bits and a rest: products of n with a piece are exact.
  const V r1 = x - n * 0x1.921fb544p+0, p2 = n * 0x1.0b4611a6p-34, r2 = r1 - p2;
  return {r2, ((r1 - r2) - p2) - n * 0x1.3198a2e037073p-69};
}

/// The sine of r + low and `turns` quarters, |r| <= pi / 4.
template <class V, class Bits>
static TENON_INLINE V double_sin_of_quadrant(Bits turns, DoubleRest<V> angle) {
  const V r = angle.r, low = angle.low, z = r * r, cube = z * r;
  const V sin_tail =
      double_polynomial(z, 0x1.5e0916b55db48p-33, -0x1.ae60056a84b17p-26, 0x1.71de379129f2ep-19,
                        -0x1.a01a019e7f846p-13, 0x1.1111111110ba1p-7, -0x1.5555555555555p-3);
  const V half = 0.5 * z, w = 1 - half;
  // The slopes where low counts: about the cosine and the sine.
  const V sin_rest = cube * sin_tail + low * (w + z * z * 0.0407);
  const V cos_tail =
      double_polynomial(z, -0x1.907b9fa75dee8p-37, 0x1.1eeb661c764f3p-29, -0x1.27e4fa1529574p-22,
                        0x1.a01a019f4c9c5p-16, -0x1.6c16c16c1695ep-10, 0x1.5555555555555p-5);
  const V cos_rest = ((1 - w) - half) + (z * (z * cos_tail) - low * (r - cube * 0.1634));
  const auto is_turned = (turns & 1) != 0;
  const V magnitude = choose(is_turned, w, r) + choose(is_turned, cos_rest, sin_rest);
  return double_of_bits(bits_of(magnitude) ^ ((turns & 2) << 62));
}
template <class V>
static TENON_INLINE V double_sin(V x) {
  const V sum = x * 0x1.45f306dc9c883p-1 + double_magic;
  const V result = double_sin_of_quadrant(bits_of(sum), double_rest(x, sum - double_magic));
  return choose(x == 0, x, result);  // keeps -0
}
template <class V>
static TENON_INLINE V double_cos(V x) {
  const V sum = x * 0x1.45f306dc9c883p-1 + double_magic;
  return double_sin_of_quadrant(bits_of(sum) + 1, double_rest(x, sum - double_magic));
}

/// Of odd quarters, -1 / tan.
template <class V>
static TENON_INLINE V double_tan(V x) {
  const V sum = x * 0x1.45f306dc9c883p-1 + double_magic;
  const DoubleRest<V> angle = double_rest(x, sum - double_magic);
  const V r = angle.r, z = r * r;
  const V tail =
      double_horner(z, 0x1.31b4d0b1d8687p-16, -0x1.1add3d0470ee5p-15, 0x1.1f2c2708139d0p-14,
                    -0x1.ae9b239201161p-19, 0x1.f6a62f2fbf8bdp-14, 0x1.e39739806ae33p-13,
                    0x1.3681498c0cc88p-11, 0x1.7d88be1802819p-10, 0x1.d6d56dcd1101dp-9, 0x1.226e2d4f38e5ep-7,
                    0x1.664f48b2d286fp-6, 0x1.ba1ba1b9867efp-5, 0x1.11111111116bfp-3, 0x1.5555555555554p-2);
  const V slope = 1 + z * (1 + z * 0.99);  // about that of the tangent
  const V near = r + (r * (z * tail) + angle.low * slope);
  const auto is_turned = (bits_of(sum) & 1) != 0;
  const V result = double_quotient(choose(is_turned, V{} - 1, near), choose(is_turned, near, V{} + 1));
  return choose(x == 0, x, result);  // keeps -0
}

/// pi / 2 as a double and what that leaves out.
inline constexpr double double_half_pi = 0x1.921fb54442d18p0, double_half_pi_rest = 0x1.1a62633145c07p-54;

/// atan(above / below) for 0 <= above <= below, which are not both infinite.
static TENON_INLINE double double_atan_of_share(double above, double below) {
  constexpr double tan_of_eighth = 0x1.a827999fcef32p-2;  // of pi
  const bool is_turned = above > tan_of_eighth * below;
  const double t = (is_turned ? above - below : above) / (is_turned ? above + below : below), s = t * t;
  const double tail = double_polynomial(s, 0x1.0ab1a49e8976ep-6, -0x1.1b247b598b335p-5, 0x1.74d7e67343632p-5,
                                        -0x1.ac7946c1ab127p-5, 0x1.e199e6876217ap-5, -0x1.110e86132c79cp-4,
                                        0x1.3b1392bddfbf2p-4, -0x1.745d165cfbb80p-4, 0x1.c71c71c2ffb8fp-4,
                                        -0x1.249249248d785p-3, 0x1.9999999999953p-3, -0x1.5555555555555p-2);
  const double near = tail * (s * t) + t;
  return is_turned ? near + 0.5 * double_half_pi_rest + 0.5 * double_half_pi : near;
}
static TENON_INLINE double double_atan(double x) {
  const double magnitude = __builtin_fabs(x);
  const bool is_steep = magnitude > 1;
  // Infinity would be divided by itself.
  const double finite = magnitude > 0x1p1000 ? 0x1p1000 : magnitude;
  const double angle = double_atan_of_share(is_steep ? 1 : finite, is_steep ? finite : 1);
  const double result = is_steep ? double_half_pi - (angle - double_half_pi_rest) : angle;
  return x != x ? x : __builtin_copysign(result, x);
}
static TENON_INLINE double double_atan2(double y, double x) {
  const double up = __builtin_fabs(y), along = __builtin_fabs(x);
  const bool is_steep = up > along;
  double above = is_steep ? along : up, below = is_steep ? up : along;
  const bool both_infinite = above > 0x1.fffffffffffffp1023;
  above = both_infinite ? 1 : below > 0x1.fffffffffffffp1023 ? 0 : above;
  below = both_infinite || below == 0 ? 1 : below;
  const double scale = below > 0x1p1000 ? 0x1p-10 : 1;  // above + below could overflow
  double angle = double_atan_of_share(scale * above, scale * below);
  angle = is_steep ? double_half_pi - (angle - double_half_pi_rest) : angle;
  angle = __builtin_copysign(1, x) < 0 ? 2 * double_half_pi - (angle - 2 * double_half_pi_rest) : angle;
  return x != x || y != y ? x + y : __builtin_copysign(angle, y);
}

/// asin(x) for |x| <= 1/2, s = x^2.
static TENON_INLINE double double_asin_small(double x, double s) {
  const double tail = double_polynomial(s, 0x1.d78189767524ep-6, -0x1.e7a24f548c99fp-7, 0x1.1d661531b222ep-6,
                                        0x1.653a8f8cfd43cp-8, 0x1.524ea8b3aad31p-7, 0x1.78246f32d075cp-7,
                                        0x1.c9cf3759fd8ffp-7, 0x1.1c4d343fa57f6p-6, 0x1.6e8bb1d89492bp-6,
                                        0x1.f1c71c1d4aa0dp-6, 0x1.6db6db6e3292ep-5, 0x1.3333333332ec4p-4,
                                        0x1.5555555555556p-3);
  return tail * (s * x) + x;
}
/// For both: beyond 1/2, asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2)).
static TENON_INLINE double double_asin(double x) {
  const double magnitude = __builtin_fabs(x);
  const bool is_far = magnitude > 0.5;
  const double s = is_far ? 0.5 * (1 - magnitude) : x * x;
  const double angle = double_asin_small(is_far ? __builtin_sqrt(s) : magnitude, s);
  const double result = is_far ? double_half_pi - (2 * angle - double_half_pi_rest) : angle;
  return __builtin_copysign(result, x);
}
static TENON_INLINE double double_acos(double x) {
  const double magnitude = __builtin_fabs(x);
  const bool is_far = magnitude > 0.5;
  const double s = is_far ? 0.5 * (1 - magnitude) : x * x;
  const double angle = double_asin_small(is_far ? __builtin_sqrt(s) : x, s);
  const double far = x < 0 ? 2 * double_half_pi - (2 * angle - 2 * double_half_pi_rest) : 2 * angle;
  return is_far ? far : double_half_pi - (angle - double_half_pi_rest);
}

}  // namespace tenon::cpu::TENON_ISA
