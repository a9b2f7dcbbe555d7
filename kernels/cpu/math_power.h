// Powers on vectors of floats: by logarithms in double, whose digits a large exponent uses up.
//
// Largest error, as in math.h: pow 0.6
#pragma once
#include "kernels/cpu/math_rounding.h"

namespace tenon::cpu::TENON_ISA {

typedef float vf_half __attribute__((vector_size(VL * 2)));
typedef double vd_half __attribute__((vector_size(VL * 4)));

template <class To>
struct Halves {
  To low, high;
};

/// 2^(z - n) for the nearest integer n, and n.
struct PowerOfTwo {
  vf_half fraction, n;
};
static TENON_INLINE PowerOfTwo split_power(vd_half z) {
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: the fraction bits fall off
  const vd_half n = (z + magic) - magic, r = z - n;
  vd_half p = r * 1.5201917811680232e-05 + 0.00015469291110026262;
  p = p * r + 0.0013333922579641388;
  p = p * r + 0.0096180272537931266;
  p = p * r + 0.055504103534279703;
  p = p * r + 0.24022651198156597;
  p = p * r + 0.69314718072845383;
  p = p * r + 0.99999999996168165;
  return {__builtin_convertvector(p, vf_half), __builtin_convertvector(n, vf_half)};
}
/// log2(m 2^e) for m in [sqrt(1/2), sqrt(2)): the series of 2 / ln 2 artanh(t), t = (m - 1) / (m + 1).
static TENON_INLINE vd_half log2_in_double(vf_half m, vf_half e) {
  const vd_half mantissa = __builtin_convertvector(m, vd_half);
  const vd_half t = (mantissa - 1.0) / (mantissa + 1.0), s = t * t;
  vd_half p = s * (2.8853900817779268 / 11) + 2.8853900817779268 / 9;
  p = p * s + 2.8853900817779268 / 7;
  p = p * s + 2.8853900817779268 / 5;
  p = p * s + 2.8853900817779268 / 3;
  p = p * s + 2.8853900817779268;
  return p * t + __builtin_convertvector(e, vd_half);
}

/// a^b for positive finite a and finite b.
static TENON_INLINE vf power_of_positive(vf a, vf b) {
  const Mantissa x = mantissa(a);
  const auto m = __builtin_bit_cast(Halves<vf_half>, x.m), e = __builtin_bit_cast(Halves<vf_half>, x.e),
             by = __builtin_bit_cast(Halves<vf_half>, b);
  const auto power = [](vf_half mantissa, vf_half exponent, vf_half factor) {
    vd_half z = log2_in_double(mantissa, exponent) * __builtin_convertvector(factor, vd_half);
    z = z > 140.0 ? vd_half{} + 140.0 : z < -160.0 ? vd_half{} - 160.0 : z;
    return split_power(z);
  };
  const PowerOfTwo low = power(m.low, e.low, by.low), high = power(m.high, e.high, by.high);
  const vf fraction = __builtin_bit_cast(vf, (Halves<vf_half>{low.fraction, high.fraction}));
  const vi n = to_int(__builtin_bit_cast(vf, (Halves<vf_half>{low.n, high.n})));
  const vi half = n >> 1;
  return (fraction * power_of_two(half)) * power_of_two(n - half);
}

/// As C's pow.
static TENON_INLINE vf vpow(vf a, vf b) {
  const vf base = vabs(a), one = broadcast(1.0f), infinite = broadcast(infinity);
  const vi is_extreme = (base == 0.0f) | (base == infinity) | (vabs(b) == infinity);
  // What an extreme base or exponent gives: 0 or infinity.
  const vi grows = (base > 1.0f) == (b > 0.0f);
  vf result = is_extreme ? (grows ? infinite : vf{}) : power_of_positive(base == 0.0f ? one : base, b);
  const vi is_integer = vtrunc(b) == b;
  const vi is_odd = is_integer & (vtrunc(0.5f * b) != 0.5f * b) & (vabs(b) < infinity);
  const vi is_negative = sign_bits(a) != 0;
  result = (is_negative & is_odd) ? -result : result;
  result = ((a < 0.0f) & (base < infinity) & ~is_integer) ? broadcast(__builtin_nanf("")) : result;
  result = ((a != a) | (b != b)) ? a + b : result;
  result = ((base == 1.0f) & (vabs(b) == infinity)) ? one : result;
  return ((b == 0.0f) | (a == 1.0f)) ? one : result;
}

}  // namespace tenon::cpu::TENON_ISA
