// Rounding, remainders and what else is made of bits, on vectors of floats: exact, but for hypot (largest
// error 2.0, as in math.h).
#pragma once
#include "kernels/cpu/math.h"

namespace tenon::cpu::TENON_ISA {

#if defined(__AVX512F__) || (defined(__AVX2__) && TENON_VL == 8)
/// By one instruction: to the nearest integer (ties to even), down, up, or towards zero.
template <int direction>
static TENON_INLINE vf rounded(vf x) {
  constexpr int mode = direction | _MM_FROUND_NO_EXC;
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(_mm512_roundscale_ps(reinterpret_cast<__m512>(x), mode));
#else
  return reinterpret_cast<vf>(_mm256_round_ps(reinterpret_cast<__m256>(x), mode));
#endif
}
static TENON_INLINE vf vround(vf x) { return rounded<_MM_FROUND_TO_NEAREST_INT>(x); }
static TENON_INLINE vf vfloor(vf x) { return rounded<_MM_FROUND_TO_NEG_INF>(x); }
static TENON_INLINE vf vceil(vf x) { return rounded<_MM_FROUND_TO_POS_INF>(x); }
static TENON_INLINE vf vtrunc(vf x) { return rounded<_MM_FROUND_TO_ZERO>(x); }
#else
/// To the nearest integer, ties to even; all larger numbers are integers.
static TENON_INLINE vf vround(vf x) {
  constexpr float two_to_23 = 8388608.0f;
  const vf magnitude = vabs(x);
  return magnitude < two_to_23 ? with_sign_of((magnitude + two_to_23) - two_to_23, x) : x;
}
static TENON_INLINE vf vfloor(vf x) {
  const vf nearest = vround(x);
  return nearest > x ? nearest - 1.0f : nearest;
}
static TENON_INLINE vf vceil(vf x) {
  const vf nearest = vround(x);
  return nearest < x ? with_sign_of(vabs(nearest + 1.0f), x) : nearest;
}
static TENON_INLINE vf vtrunc(vf x) { return with_sign_of(vfloor(vabs(x)), x); }
#endif

static TENON_INLINE vf vsign(vf x) {
  return (x > 0.0f ? broadcast(1.0f) : vf{}) - (x < 0.0f ? broadcast(1.0f) : vf{});
}
static TENON_INLINE vf vcopysign(vf x, vf sign) { return with_sign_of(vabs(x), sign); }
/// The one that is not NaN.
static TENON_INLINE vf vfmin(vf a, vf b) { return ((a < b) | (b != b)) ? a : b; }
static TENON_INLINE vf vfmax(vf a, vf b) { return ((a > b) | (b != b)) ? a : b; }

static TENON_INLINE vf vnextafter(vf x, vf to) {
  const vi away = (to > x) == (x > 0.0f) ? vi{} + 1 : vi{} - 1;  // from 0
  const vf next = x == 0.0f ? with_sign_of(from_bits(vi{} + 1), to) : from_bits(bits(x) + away);
  return ((x != x) | (to != to)) ? x + to : x == to ? to : next;
}
static TENON_INLINE vf vhypot(vf a, vf b) {
  a = vabs(a);
  b = vabs(b);
  const vf large = a > b ? a : b, small = a > b ? b : a;
  const vf share = small / (large == 0.0f ? broadcast(1.0f) : large);
  const vf result = large * vsqrt(1.0f + share * share);
  const vi is_infinite = (a == infinity) | (b == infinity);
  return is_infinite ? broadcast(infinity) : ((a != a) | (b != b)) ? a + b : result;
}

#if defined(__FMA__) || defined(__aarch64__)
#define TENON_VECTOR_FMOD 1

/// a - b c, rounded once.
static TENON_INLINE vf minus_product(vf a, vf b, vf c) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(_mm512_fnmadd_ps(reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c),
                                               reinterpret_cast<__m512>(a)));
#elif defined(__FMA__) && TENON_VL == 8
  return reinterpret_cast<vf>(_mm256_fnmadd_ps(reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c),
                                               reinterpret_cast<__m256>(a)));
#else
  TENON_UNROLL
  for (int i = 0; i < VL; i++) a[i] = __builtin_fmaf(-b[i], c[i], a[i]);
  return a;
#endif
}

/// The quotient is at most one too large, and the remainder of that exact, where it has at most 22 bits.
static TENON_INLINE vf vfmod(vf a, vf b) {
  const vf quotient = a / b;
  const vi is_large = ~((vabs(quotient) < 4194304.0f) & (vabs(b) < infinity));
  if (any(is_large)) {
    for (int i = 0; i < VL; i++) a[i] = __builtin_fmodf(a[i], b[i]);
    return a;
  }
  const vf rest = minus_product(a, vtrunc(quotient), b);
  const vi is_beyond = (bits(rest) ^ bits(a)) < 0;  // its sign is not a's
  return with_sign_of(vabs((is_beyond & (rest != 0.0f)) ? rest + with_sign_of(vabs(b), a) : rest), a);
}
static TENON_INLINE vf vremainder(vf a, vf b) {
  const vf rest = vfmod(a, b);
  return ((rest != 0.0f) & ((b < 0.0f) != (rest < 0.0f))) ? rest + b : rest;
}
/// The floor of the exact quotient, as base/prim_meaning.h has it.
static TENON_INLINE vf vfloor_div(vf a, vf b) {
  const vf rest = vfmod(a, b);
  vf quotient = (a - rest) / b;
  quotient = ((rest != 0.0f) & ((b < 0.0f) != (rest < 0.0f))) ? quotient - 1.0f : quotient;
  const vf floored = vfloor(quotient);
  const vf nearest = quotient - floored > 0.5f ? floored + 1.0f : floored;
  const vf result = quotient == 0.0f ? vcopysign(vf{}, a / b) : nearest;
  return b == 0.0f ? a / b : result;
}
#endif

}  // namespace tenon::cpu::TENON_ISA
