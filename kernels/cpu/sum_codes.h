// Codes of sums that are still in registers, of AVX-512 and AVX2. Per-ISA code.
#pragma once
#include "kernels/cpu/byte_table.h"
#include "kernels/cpu/scaling.h"

namespace tenon::cpu::TENON_ISA {

// The bytes of four vectors, or half as many words, or a quarter of 32-bit integers.
#if defined(__AVX512F__)
using Codes = __m512i;
static TENON_INLINE Codes words_of(int x) { return _mm512_set1_epi16(static_cast<short>(x)); }
static TENON_INLINE Codes sum_of_words(Codes a, Codes b) { return _mm512_add_epi16(a, b); }
static TENON_INLINE Codes nearest(vf x) { return _mm512_cvtps_epi32(reinterpret_cast<__m512>(x)); }
static TENON_INLINE Codes to_words(Codes a, Codes b) { return _mm512_packs_epi32(a, b); }
static TENON_INLINE Codes to_signed_bytes(Codes a, Codes b) { return _mm512_packs_epi16(a, b); }
static TENON_INLINE Codes to_bytes(Codes a, Codes b) { return _mm512_packus_epi16(a, b); }
// No compiler contracts it with a sum that follows.
static TENON_INLINE vf rounded_product(vf a, vf b) {
  return reinterpret_cast<vf>(_mm512_mul_round_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b),
                                                  _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#else
using Codes = __m256i;
static TENON_INLINE Codes words_of(int x) { return _mm256_set1_epi16(static_cast<short>(x)); }
static TENON_INLINE Codes sum_of_words(Codes a, Codes b) { return _mm256_add_epi16(a, b); }
static TENON_INLINE Codes nearest(vf x) { return _mm256_cvtps_epi32(reinterpret_cast<__m256>(x)); }
static TENON_INLINE Codes to_words(Codes a, Codes b) { return _mm256_packs_epi32(a, b); }
static TENON_INLINE Codes to_signed_bytes(Codes a, Codes b) { return _mm256_packs_epi16(a, b); }
static TENON_INLINE Codes to_bytes(Codes a, Codes b) { return _mm256_packus_epi16(a, b); }
static TENON_INLINE vf rounded_product(vf a, vf b) {
  vf product = a * b;
  asm("" : "+x"(product));
  return product;
}
#endif

class SumCoder {
 public:
  explicit TENON_INLINE SumCoder(const CodesOfSums& c)
      : scaling_(c.by_scale),
        low_(broadcast(c.low)),
        high_(broadcast(c.high)),
        zero_(words_of(c.zero)),
        is_signed_(c.is_signed),
        by_table_(c.by_table),
        table_(c.table.data()) {}

  /// The codes of four vectors, without NaN: 16 bytes of each 128 bits, four of each vector in order.
  TENON_INLINE Codes bytes(vf a, vf b, vf c, vf d) const {
    const Codes first = sum_of_words(to_words(whole(a), whole(b)), zero_);
    const Codes second = sum_of_words(to_words(whole(c), whole(d)), zero_);
    const Codes codes = is_signed_ ? to_signed_bytes(first, second) : to_bytes(first, second);
    return by_table_ ? table_.of_bytes(codes) : codes;
  }

 private:
  TENON_INLINE Codes whole(vf x) const { return nearest(scaling_.of(min_or_b(max_or_b(x, low_), high_))); }

  Scaling scaling_;
  vf low_, high_;
  Codes zero_;
  bool is_signed_, by_table_;
  ByteTable table_;
};

// What the code of a sum stands for, and that of a residual, added.
class SumWithResidual {
 public:
  TENON_INLINE SumWithResidual(const ResidualOfSums& r)
      : scaling_(r.by_scale),
        low_(broadcast(r.low)),
        high_(broadcast(r.high)),
        origin_(broadcast(to_whole + r.zero)),
        scale_(broadcast(r.scale)),
        flip_(broadcast(static_cast<std::uint8_t>(r.is_signed ? sign : 0))),
        residual_zero_(broadcast(r.of_residual.zero + (r.is_signed ? sign : 0))),
        residual_scale_(broadcast(r.of_residual.scale)) {}

  TENON_INLINE vf of(vf sum, vb residual) const {
    const vf scaled = scaling_.of(min_or_b(max_or_b(sum, low_), high_));
    const vf steps = scaled + to_whole - origin_;
    const vf residual_steps = to_float(widen(residual ^ flip_)) - residual_zero_;
    return rounded_product(steps, scale_) + rounded_product(residual_steps, residual_scale_);
  }

 private:
  static constexpr int sign = 128;
  // Added to a number of up to 2^22 it leaves the nearest whole one in the lower bits.
  static constexpr float to_whole = 12582912.0F;

  Scaling scaling_;
  vf low_, high_, origin_, scale_;
  vb flip_;
  vf residual_zero_, residual_scale_;
};

}  // namespace tenon::cpu::TENON_ISA
