// Float math on vectors: exponentials and logarithms. The coefficients come from fit_math.py.
//
// Largest errors over the whole range, in units of the last place, against double
// (tests/kernels/prims_test.cpp):
//   exp, exp2 1.3 · expm1 1.6 · log 0.9 · log2 1.8 · log10 1.9 · log1p 1.5 · sigmoid 2.6 · tanh 4.6
// NaN gives NaN, infinities give what C's functions give, results below the normal range are subnormal, not
// flushed, but for those of sigmoid, which are 0.
#pragma once
#include "kernels/cpu/simd.h"
#include "kernels/cpu/special_logarithms.h"

namespace tenon::cpu::TENON_ISA {

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
/// What is added to |x| < 2^22 for the fraction bits to fall off: the nearest integer, ties to even, is then
/// in the lowest bits.
inline constexpr float rounding = 12582912.0f;  // 1.5 * 2^23
static TENON_INLINE vf round_small(vf x) { return (x + rounding) - rounding; }
/// Clamps to [low, high]; NaN stays.
static TENON_INLINE vf clamp(vf x, float low, float high) {
  return min_or_b(broadcast(high), max_or_b(broadcast(low), x));
}
/// Coefficients of the highest power first.
template <class... C>
static TENON_INLINE vf polynomial(vf x, float highest, C... others) {
  vf sum = broadcast(highest);
  ((sum = sum * x + others), ...);
  return sum;
}
/// 2^n for n in [-126, 127].
static TENON_INLINE vf power_of_two(vi n) { return from_bits((n + 127) << 23); }

/// x = n ln 2 + r with |r| <= ln(2) / 2; also (e^r - 1 - r) / r^2.
struct ExpParts {
  vf n;
  vf r;
  vf tail;

  vf power_of_e() const { return tail * (r * r) + (r + 1.0f); }  // e^r
};
static TENON_INLINE ExpParts exp_parts(vf x, vf n) {
  const vf r = (x - n * 0.69314575f) - n * 1.4286068e-6f;
  return {n, r, polynomial(r, 0.0013950514f, 0.008368903f, 0.041666206f, 0.16666518f, 0.5f)};
}
static TENON_INLINE ExpParts exp_parts(vf x) { return exp_parts(x, round_small(x * 1.44269504f)); }

/// p 2^n for a whole n in [-153, 131]: p is about 1, the result may be subnormal or infinite.
static TENON_INLINE vf scaled(vf p, vf n) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(_mm512_scalef_ps(reinterpret_cast<__m512>(p), reinterpret_cast<__m512>(n)));
#else
  const vi whole = to_int(n);
  const vi half = whole >> 1;  // 2^n in two factors
  return from_bits(bits(p) + (half << 23)) * power_of_two(whole - half);
#endif
}

/// e^x 2^power, for power in [-2, 0].
static TENON_INLINE vf exp_times(vf x, int power) {
  x = clamp(x, -104.5f, 91.0f);
  const ExpParts e = exp_parts(x);
  return scaled(e.power_of_e(), e.n + static_cast<float>(power));
}
static TENON_INLINE vf vexp(vf x) { return exp_times(x, 0); }
/// exp for x <= 0 (or NaN) where a result below 1.2e-38 may as well be zero: what softmax needs.
static TENON_INLINE vf vexp_nonpositive(vf x) {
  const ExpParts e = exp_parts(max_or_b(broadcast(-87.0f), x));
  const vf y = from_bits(bits(e.power_of_e()) + (to_int(e.n) << 23));
  return x < -87.0f ? vf{} : y;
}
static TENON_INLINE vf vexp2(vf x) {
#if defined(__AVX512DQ__)
  const auto of = reinterpret_cast<__m512>(x);
  const vf r = reinterpret_cast<vf>(_mm512_reduce_ps(of, 0));  // less the nearest integer; of infinity 0
  const vf slope = polynomial(r, 0.00015453163f, 0.0013390863f, 0.009618083f, 0.05550357f, 0.2402265f,
                              0.6931472f);  // (2^r - 1) / r
  return reinterpret_cast<vf>(
      _mm512_scalef_ps(reinterpret_cast<__m512>(slope * r + 1.0f), _mm512_roundscale_ps(of, 0)));
#else
  x = clamp(x, -151.0f, 129.0f);
  const vf n = round_small(x);
  const ExpParts e = exp_parts((x - n) * 0.693147181f, vf{});
  return scaled(e.power_of_e(), n);
#endif
}
static TENON_INLINE vf vexpm1(vf x) {
  const vf y = clamp(x, -20.0f, 89.0f);
  const ExpParts e = exp_parts(y);
  const vf q = e.tail * (e.r * e.r) + e.r;
  const vf scale = power_of_two(to_int(e.n - 1.0f));  // half of 2^n, which itself may overflow
  const vf result = (scale * q + (scale - 0.5f)) * 2.0f;
  return x == 0.0f ? x : result;  // keeps -0
}

/// x = m 2^e with m in [sqrt(1/2), sqrt(2)), for positive finite x.
struct Mantissa {
  vf m, e;
};
static TENON_INLINE Mantissa mantissa(vf x) {
#if defined(__AVX512F__)
  const auto of = reinterpret_cast<__m512>(x);
  const __m512 m = _mm512_getmant_ps(of, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src), e = _mm512_getexp_ps(of);
  const __mmask16 is_large = _mm512_cmp_ps_mask(m, _mm512_set1_ps(1.41421356f), _CMP_GE_OQ);
  return {reinterpret_cast<vf>(_mm512_mask_mul_ps(m, is_large, m, _mm512_set1_ps(0.5f))),
          reinterpret_cast<vf>(_mm512_mask_add_ps(e, is_large, e, _mm512_set1_ps(1)))};
#else
  const vi is_subnormal = x < 1.17549435e-38f;
  const vf scaled = is_subnormal ? x * 8388608.0f : x;
  // Less sqrt(1/2), in unsigned arithmetic: the bits of negative numbers may wrap.
  const vi shifted = reinterpret_cast<vi>(reinterpret_cast<vu>(scaled) - 0x3f3504f3u);
  const vi exponent = shifted >> 23;
  return {from_bits((shifted & 0x007fffff) + 0x3f3504f3), to_float(exponent + (is_subnormal & -23))};
#endif
}

/// The exponent of x, and the logarithm of its mantissa.
struct LogParts {
  vf e;
  vf log_f;
};
static TENON_INLINE LogParts log_parts(vf x) {
  const Mantissa x_parts = mantissa(x);
  const vf f = x_parts.m - 1.0f;
  const vf tail = polynomial(f, -0.07634453f, 0.1276156f, -0.13160191f, 0.1420176f, -0.16623357f, 0.20001227f,
                             -0.2500082f, 0.3333333f);
  const vf square = f * f;
  return {x_parts.e, f + (square * f * tail - 0.5f * square)};
}
/// The logarithm's value where x is no positive finite number.
static TENON_INLINE vf log_special(vf x, vf result) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(_mm512_fixupimm_ps(reinterpret_cast<__m512>(result),
                                                 reinterpret_cast<__m512>(x),
                                                 _mm512_set1_epi32(special_logarithms), 0));
#else
  result = x == infinity ? x : result;
  result = x == 0.0f ? broadcast(-infinity) : result;
  return x >= 0.0f ? result : broadcast(__builtin_nanf(""));
#endif
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

/// 1 + e^-x; infinite where e^-x is, so that its reciprocal is 0.
static TENON_INLINE vf one_and_exp_of_minus(vf x) {
#if defined(__AVX512F__)
  return 1.0f + vexp(-x);
#else
  const vf y = clamp(x, -89.0f, 87.0f);
  const vf sum = y * -1.44269504f + rounding;
  const ExpParts e = exp_parts(-y, sum - rounding);
  const vf half = from_bits((bits(sum) << 23) + (126 << 23));  // of 2^n, which itself may be infinite
  return (e.power_of_e() * half) * 2.0f + 1.0f;
#endif
}
static TENON_INLINE vf vsigmoid(vf x) { return 1.0f / one_and_exp_of_minus(x); }
static TENON_INLINE vf vsilu(vf x) { return x / one_and_exp_of_minus(x); }
static TENON_INLINE vf vtanh(vf whole) {
  constexpr float saturated = 9.02f;  // beyond it the result rounds to 1
  const vf x = clamp(whole, -saturated, saturated);
  const vf s = x * x;
  const vf p =
      polynomial(s, -1.2203437e-11f, 3.0584978e-08f, 2.8007438e-05f, 0.0038683268f, 0.13679914f, 1.0f);
  const vf q = polynomial(s, 1.2873652e-06f, 0.00039386292f, 0.027245834f, 0.47013247f, 1.0f);
  return vabs(whole) > saturated ? with_sign_of(broadcast(1.0f), whole) : clamp(x * p / q, -1.0f, 1.0f);
}

}  // namespace tenon::cpu::TENON_ISA
