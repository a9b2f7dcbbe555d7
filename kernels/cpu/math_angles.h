// Angles on vectors of floats. The coefficients come from fit_math.py.
//
// Largest errors, as in math.h: sin, cos 1.7 · tan 3.2 · atan 2.1 · atan2 1.8 · asin 2.4 · acos 1.1
// Sines, cosines and tangents of |x| > 12000 come from the C library.
#pragma once
#include "kernels/cpu/math.h"

namespace tenon::cpu::TENON_ISA {

/// x = n pi / 2 + r with |r| <= pi / 4, for |x| <= 12000.
struct Quadrant {
  vi n;
  vf r;
};
inline constexpr float largest_reduced_angle = 12000.0f;
static TENON_INLINE Quadrant quadrant(vf x) {
  const vf n = round_small(x * 0.636619772f);
  vf r = x - n * 1.5703125f;
  r = r - n * 0.0004837513f;
  r = r - n * 7.5495336e-08f;
  r = r - n * 2.563344e-12f;
  return {to_int(n), r};
}
static TENON_INLINE vf sin_small(vf r) {
  const vf s = r * r;
  const vf p = polynomial(s, 2.7182168e-06f, -0.00019839325f, 0.008333329f, -0.16666667f);
  return p * (s * r) + r;
}
static TENON_INLINE vf cos_small(vf r) {
  const vf s = r * r;
  const vf p = polynomial(s, 2.4437531e-05f, -0.001388736f, 0.041666646f);
  return p * (s * s) + (1.0f - 0.5f * s);
}
static TENON_INLINE vf sin_of_quadrant(vi n, vf r) {
  const vf s = sin_small(r);
  const vf c = cos_small(r);
  const vf magnitude = (n & 1) != 0 ? c : s;
  return from_bits(bits(magnitude) ^ ((n & 2) << 30));
}
/// Are all lanes within the range of quadrant()? NaN and infinities are not.
static TENON_INLINE bool angles_are_small(vf x) { return !any(~(vabs(x) <= largest_reduced_angle)); }
static TENON_INLINE vf vsin(vf x) {
  if (!angles_are_small(x)) {
    for (int i = 0; i < VL; i++) x[i] = __builtin_sinf(x[i]);
    return x;
  }
  const Quadrant q = quadrant(x);
  const vf result = sin_of_quadrant(q.n, q.r);
  return x == 0.0f ? x : result;  // keeps -0
}
static TENON_INLINE vf vcos(vf x) {
  if (!angles_are_small(x)) {
    for (int i = 0; i < VL; i++) x[i] = __builtin_cosf(x[i]);
    return x;
  }
  const Quadrant q = quadrant(x);
  return sin_of_quadrant(q.n + 1, q.r);
}

static TENON_INLINE vf vtan(vf x) {
  if (!angles_are_small(x)) {
    for (int i = 0; i < VL; i++) x[i] = __builtin_tanf(x[i]);
    return x;
  }
  const Quadrant q = quadrant(x);
  const vf s = sin_small(q.r), c = cos_small(q.r);
  const vf result = (q.n & 1) != 0 ? -c / s : s / c;
  return x == 0.0f ? x : result;  // keeps -0
}

/// pi and parts of it as a float and what that leaves out.
inline constexpr float half_pi = 1.57079637f, half_pi_rest = -4.37113883e-8f;

/// atan(above / below) for 0 <= above <= below, which are not both infinite.
static TENON_INLINE vf atan_of_share(vf above, vf below) {
  constexpr float tan_of_eighth = 0.414213562f;  // of pi
  const vi is_steep = above > tan_of_eighth * below;
  const vf t = (is_steep ? above - below : above) / (is_steep ? above + below : below);
  const vf s = t * t;
  const vf angle = polynomial(s, 0.08059286f, -0.13879555f, 0.19977902f, -0.33332956f) * (s * t) + t;
  return is_steep ? angle + 0.5f * half_pi_rest + 0.5f * half_pi : angle;
}
static TENON_INLINE vf vatan(vf x) {
  const vf magnitude = vabs(x), one = broadcast(1.0f);
  const vi is_steep = magnitude > 1.0f;
  // Infinity below would be divided by itself.
  const vf below = magnitude == infinity ? broadcast(3.4028235e38f) : magnitude;
  const vf angle = atan_of_share(is_steep ? one : magnitude, is_steep ? below : one);
  return with_sign_of(is_steep ? half_pi - (angle - half_pi_rest) : angle, x);
}
static TENON_INLINE vf vatan2(vf y, vf x) {
  const vf up = vabs(y), along = vabs(x);
  const vi is_steep = up > along;
  vf above = is_steep ? along : up, below = is_steep ? up : along;
  const vi both_infinite = above == infinity;
  above = both_infinite ? broadcast(1.0f) : below == infinity ? vf{} : above;
  below = (both_infinite | (below == 0.0f)) ? broadcast(1.0f) : below;
  const vi is_huge = below > 1e38f;  // above + below could overflow
  above = is_huge ? 0.25f * above : above;
  below = is_huge ? 0.25f * below : below;
  vf angle = atan_of_share(above, below);
  angle = is_steep ? half_pi - (angle - half_pi_rest) : angle;
  angle = sign_bits(x) != 0 ? 2.0f * half_pi - (angle - 2.0f * half_pi_rest) : angle;
  return ((x != x) | (y != y)) ? x + y : with_sign_of(angle, y);
}

/// asin(x) for |x| <= 1/2, s = x^2.
static TENON_INLINE vf asin_small(vf x, vf s) {
  return polynomial(s, 0.04223054f, 0.024140993f, 0.045478344f, 0.07495233f, 0.16666754f) * (s * x) + x;
}
/// For both: beyond 1/2, asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2)).
static TENON_INLINE vf vasin(vf x) {
  const vf magnitude = vabs(x);
  const vi is_far = magnitude > 0.5f;
  const vf s = is_far ? 0.5f * (1.0f - magnitude) : x * x;
  const vf angle = asin_small(is_far ? vsqrt(s) : magnitude, s);
  return with_sign_of(is_far ? half_pi - (2.0f * angle - half_pi_rest) : angle, x);
}
static TENON_INLINE vf vacos(vf x) {
  const vf magnitude = vabs(x);
  const vi is_far = magnitude > 0.5f;
  const vf s = is_far ? 0.5f * (1.0f - magnitude) : x * x;
  const vf angle = asin_small(is_far ? vsqrt(s) : x, s);
  const vf far = x < 0.0f ? 2.0f * half_pi - (2.0f * angle - 2.0f * half_pi_rest) : 2.0f * angle;
  return is_far ? far : half_pi - (angle - half_pi_rest);
}

}  // namespace tenon::cpu::TENON_ISA
