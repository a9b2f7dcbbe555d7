// Float math on vectors. The coefficients come from fit_math.py.
//
// Largest errors over the whole range, in units of the last place, against double
// (tests/kernels/prims_test.cpp):
//   exp, exp2 1.3 · expm1 1.6 · log 0.9 · log2 1.4 · log10 1.8 · log1p 1.5 · sin, cos 1.7 · sigmoid 2.6
//   tanh 4.6 · erf 5.1 · gelu 2e-6 absolute for |x| <= 10
// sin and cos of |x| > 12000 come from the C library.
// NaN gives NaN, infinities give what C's functions give, results below the normal range are subnormal, not
// flushed.
#pragma once
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

typedef std::uint32_t vu __attribute__((vector_size(VL * 4)));

inline constexpr float infinity = __builtin_inff();

static TENON_INLINE vf vabs(vf x) { return from_bits(bits(x) & 0x7fffffff); }
static TENON_INLINE vi sign_bits(vf x) { return bits(x) & static_cast<std::int32_t>(0x80000000u); }
static TENON_INLINE vf with_sign_of(vf magnitude, vf sign) {
  return from_bits(bits(magnitude) | sign_bits(sign));
}
static TENON_INLINE vf vsqrt(vf x) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(_mm512_sqrt_ps(reinterpret_cast<__m512>(x)));
#elif defined(__AVX2__) && TENON_VL == 8
  return reinterpret_cast<vf>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x)));
#elif defined(__SSE2__) && TENON_VL == 4
  return reinterpret_cast<vf>(_mm_sqrt_ps(reinterpret_cast<__m128>(x)));
#else
  TENON_UNROLL
  for (int i = 0; i < VL; i++) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}
/// Round to the nearest integer, ties to even, for |x| < 2^22.
static TENON_INLINE vf round_small(vf x) {
  constexpr float magic = 12582912.0f;  // 1.5 * 2^23: the fraction bits fall off
  return (x + magic) - magic;
}
/// Clamps to [low, high]; NaN stays.
static TENON_INLINE vf clamp(vf x, float low, float high) {
  return min_or_b(broadcast(high), max_or_b(broadcast(low), x));
}
/// 2^n for n in [-126, 127].
static TENON_INLINE vf power_of_two(vi n) { return from_bits((n + 127) << 23); }

/// x = n ln 2 + r with |r| <= ln(2) / 2; also (e^r - 1 - r) / r^2.
struct ExpParts {
  vf n;
  vf r;
  vf tail;
};
static TENON_INLINE ExpParts exp_parts(vf x) {
  ExpParts e;
  e.n = round_small(x * 1.44269504f);
  e.r = (x - e.n * 0.69314575f) - e.n * 1.4286068e-6f;
  e.tail = broadcast(0.0013950514f);
  e.tail = e.tail * e.r + 0.008368903f;
  e.tail = e.tail * e.r + 0.041666206f;
  e.tail = e.tail * e.r + 0.16666518f;
  e.tail = e.tail * e.r + 0.5f;
  return e;
}

static TENON_INLINE vf vexp(vf x) {
  x = clamp(x, -104.5f, 89.0f);
  const ExpParts e = exp_parts(x);
  const vf p = e.tail * (e.r * e.r) + (e.r + 1.0f);
  // 2^n in two factors: n reaches from -151 (a subnormal or zero result) to 128 (infinity).
  const vi n = to_int(e.n);
  const vi half = n >> 1;
  return (p * power_of_two(half)) * power_of_two(n - half);
}
/// exp for x <= 0 (or NaN) where a result below 1.2e-38 may as well be zero: what softmax needs.
static TENON_INLINE vf vexp_nonpositive(vf x) {
  const ExpParts e = exp_parts(max_or_b(broadcast(-87.0f), x));
  const vf p = e.tail * (e.r * e.r) + (e.r + 1.0f);
  const vf y = from_bits(bits(p) + (to_int(e.n) << 23));
  return x < -87.0f ? vf{} : y;
}
static TENON_INLINE vf vexp2(vf x) {
  x = clamp(x, -151.0f, 129.0f);
  const vf n = round_small(x);
  const ExpParts e =
      exp_parts((x - n) * 0.693147181f);  // |.| <= ln(2) / 2: its own n is 0 or rounds off nothing
  const vf p = e.tail * (e.r * e.r) + (e.r + 1.0f);
  const vi whole = to_int(n + e.n);
  const vi half = whole >> 1;
  return (p * power_of_two(half)) * power_of_two(whole - half);
}
static TENON_INLINE vf vexpm1(vf x) {
  const vf y = clamp(x, -20.0f, 89.0f);
  const ExpParts e = exp_parts(y);
  const vf q = e.tail * (e.r * e.r) + e.r;
  const vf scale = power_of_two(to_int(e.n - 1.0f));  // half of 2^n, which itself may overflow
  const vf result = (scale * q + (scale - 0.5f)) * 2.0f;
  return x == 0.0f ? x : result;  // keeps -0
}

/// x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), for positive finite x; log(1 + f).
struct LogParts {
  vf e;
  vf log_f;
};
static TENON_INLINE LogParts log_parts(vf x) {
  const vi is_subnormal = x < 1.17549435e-38f;
  const vf scaled = is_subnormal ? x * 8388608.0f : x;
  // Less sqrt(1/2), in unsigned arithmetic: the bits of negative numbers may wrap.
  const vi shifted = reinterpret_cast<vi>(reinterpret_cast<vu>(scaled) - 0x3f3504f3u);
  const vi exponent = shifted >> 23;
  const vf f = from_bits((shifted & 0x007fffff) + 0x3f3504f3) - 1.0f;
  vf tail = broadcast(-0.07634453f);
  tail = tail * f + 0.1276156f;
  tail = tail * f + -0.13160191f;
  tail = tail * f + 0.1420176f;
  tail = tail * f + -0.16623357f;
  tail = tail * f + 0.20001227f;
  tail = tail * f + -0.2500082f;
  tail = tail * f + 0.3333333f;
  const vf square = f * f;
  LogParts parts;
  parts.e = to_float(exponent + (is_subnormal & -23));
  parts.log_f = f + (square * f * tail - 0.5f * square);
  return parts;
}
/// The logarithm's value where x is no positive finite number.
static TENON_INLINE vf log_special(vf x, vf result) {
  result = x == infinity ? x : result;
  result = x == 0.0f ? broadcast(-infinity) : result;
  return x >= 0.0f ? result : broadcast(__builtin_nanf(""));
}
static TENON_INLINE vf vlog(vf x) {
  const LogParts l = log_parts(x);
  return log_special(x, l.e * 0.69314575f + (l.e * 1.4286068e-6f + l.log_f));
}
static TENON_INLINE vf vlog2(vf x) {
  const LogParts l = log_parts(x);
  return log_special(x, l.log_f * 1.44269504f + l.e);
}
static TENON_INLINE vf vlog10(vf x) {
  const LogParts l = log_parts(x);
  return log_special(x, l.e * 0.3010254f + (l.e * 4.605039e-06f + l.log_f * 0.434294482f));
}
static TENON_INLINE vf vlog1p(vf x) {
  const vf u = x + 1.0f;
  const vf lost = (x - (u - 1.0f)) / u;  // what rounding to u left out
  const vf result = vlog(u) + lost;
  return ((x == infinity) | (x == 0.0f) | (u == 0.0f)) ? (u == 0.0f ? broadcast(-infinity) : x) : result;
}

static TENON_INLINE vf vsigmoid(vf x) { return 1.0f / (1.0f + vexp(-x)); }
static TENON_INLINE vf vsilu(vf x) { return x / (1.0f + vexp(-x)); }
static TENON_INLINE vf vtanh(vf whole) {
  constexpr float saturated = 9.02f;  // beyond it the result rounds to 1
  const vf x = clamp(whole, -saturated, saturated);
  const vf s = x * x;
  vf p = broadcast(-1.2203437e-11f);
  p = p * s + 3.0584978e-08f;
  p = p * s + 2.8007438e-05f;
  p = p * s + 0.0038683268f;
  p = p * s + 0.13679914f;
  p = p * s + 1.0f;
  vf q = broadcast(1.2873652e-06f);
  q = q * s + 0.00039386292f;
  q = q * s + 0.027245834f;
  q = q * s + 0.47013247f;
  q = q * s + 1.0f;
  return vabs(whole) > saturated ? with_sign_of(broadcast(1.0f), whole) : clamp(x * p / q, -1.0f, 1.0f);
}
static TENON_INLINE vf verf(vf whole) {
  constexpr float saturated = 3.95f;  // beyond it the result rounds to 1
  const vf x = clamp(whole, -saturated, saturated);
  const vf s = x * x;
  vf p = broadcast(2.0259101e-06f);
  p = p * s + 0.0002846882f;
  p = p * s + 0.0038081706f;
  p = p * s + 0.052875474f;
  p = p * s + 0.1915505f;
  p = p * s + 1.1283791f;
  vf q = broadcast(3.7831847e-05f);
  q = q * s + 0.0011707285f;
  q = q * s + 0.015055107f;
  q = q * s + 0.1145597f;
  q = q * s + 0.50308985f;
  q = q * s + 1.0f;
  return vabs(whole) > saturated ? with_sign_of(broadcast(1.0f), whole) : clamp(x * p / q, -1.0f, 1.0f);
}
static TENON_INLINE vf vgelu(vf x) {
  const vf half = 0.5f * x;
  return half * verf(x * 0.707106781f) + half;
}

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
  vf p = broadcast(2.7182168e-06f);
  p = p * s + -0.00019839325f;
  p = p * s + 0.008333329f;
  p = p * s + -0.16666667f;
  return p * (s * r) + r;
}
static TENON_INLINE vf cos_small(vf r) {
  const vf s = r * r;
  vf p = broadcast(2.4437531e-05f);
  p = p * s + -0.001388736f;
  p = p * s + 0.041666646f;
  return p * (s * s) + (1.0f - 0.5f * s);
}
static TENON_INLINE vf sin_of_quadrant(vi n, vf r) {
  const vf s = sin_small(r);
  const vf c = cos_small(r);
  const vf magnitude = (n & 1) != 0 ? c : s;
  return from_bits(bits(magnitude) ^ ((n & 2) << 30));
}
/// Are all lanes within the range of quadrant()? NaN and infinities are not.
static TENON_INLINE bool angles_are_small(vf x) {
  const vi outside = ~(vabs(x) <= largest_reduced_angle);
  std::int32_t any = 0;
  TENON_UNROLL
  for (int i = 0; i < VL; i++) any |= outside[i];
  return any == 0;
}
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

}  // namespace tenon::cpu::TENON_ISA
