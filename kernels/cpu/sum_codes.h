// Codes of sums that are still in registers, of AVX-512. Per-ISA code.
#pragma once
#include "kernels/cpu/byte_table.h"
#include "kernels/cpu/scaling.h"

namespace tenon::cpu::TENON_ISA {

class SumCoder {
 public:
  explicit TENON_INLINE SumCoder(const CodesOfSums& c)
      : scaling_(c.by_scale),
        low_(_mm512_set1_ps(c.low)),
        high_(_mm512_set1_ps(c.high)),
        zero_(_mm512_set1_epi16(static_cast<short>(c.zero))),
        is_signed_(c.is_signed),
        by_table_(c.by_table),
        table_(c.table.data()) {}

  /// The codes of four vectors, without NaN: 16 bytes of each 128 bits, four of each vector in order.
  TENON_INLINE __m512i bytes(__m512 a, __m512 b, __m512 c, __m512 d) const {
    const __m512i first = _mm512_add_epi16(_mm512_packs_epi32(whole(a), whole(b)), zero_);
    const __m512i second = _mm512_add_epi16(_mm512_packs_epi32(whole(c), whole(d)), zero_);
    const __m512i codes = is_signed_ ? _mm512_packs_epi16(first, second) : _mm512_packus_epi16(first, second);
    return by_table_ ? table_.of_bytes(codes) : codes;
  }

 private:
  TENON_INLINE __m512i whole(__m512 x) const {
    const __m512 clamped = _mm512_min_ps(_mm512_max_ps(x, low_), high_);
    return _mm512_cvtps_epi32(reinterpret_cast<__m512>(scaling_.of(reinterpret_cast<vf>(clamped))));
  }

  Scaling scaling_;
  __m512 low_, high_;
  __m512i zero_;
  bool is_signed_, by_table_;
  ByteTable table_;
};

// What the code of a sum stands for, and that of a residual, added.
class SumWithResidual {
 public:
  TENON_INLINE SumWithResidual(const ResidualOfSums& r)
      : scaling_(r.by_scale),
        low_(_mm512_set1_ps(r.low)),
        high_(_mm512_set1_ps(r.high)),
        origin_(_mm512_set1_ps(to_whole + r.zero)),
        scale_(_mm512_set1_ps(r.scale)),
        flip_(_mm_set1_epi8(static_cast<char>(r.is_signed ? sign : 0))),
        residual_zero_(_mm512_set1_ps(r.of_residual.zero + (r.is_signed ? sign : 0))),
        residual_scale_(_mm512_set1_ps(r.of_residual.scale)) {}

  TENON_INLINE __m512 of(__m512 sum, __m128i residual) const {
    const __m512 clamped = _mm512_min_ps(_mm512_max_ps(sum, low_), high_);
    const auto scaled = reinterpret_cast<__m512>(scaling_.of(reinterpret_cast<vf>(clamped)));
    const __m512 steps = _mm512_sub_ps(_mm512_add_ps(scaled, _mm512_set1_ps(to_whole)), origin_);
    const __m512i code = _mm512_cvtepu8_epi32(_mm_xor_si128(residual, flip_));
    const __m512 residual_steps = _mm512_sub_ps(_mm512_cvtepi32_ps(code), residual_zero_);
    return _mm512_add_ps(rounded_product(steps, scale_), rounded_product(residual_steps, residual_scale_));
  }

 private:
  static constexpr int sign = 128;
  // Added to a number of up to 2^22 it leaves the nearest whole one in the lower bits.
  static constexpr float to_whole = 12582912.0F;

  // No compiler contracts it with the sum that follows.
  static TENON_INLINE __m512 rounded_product(__m512 a, __m512 b) {
    return _mm512_mul_round_ps(a, b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }

  Scaling scaling_;
  __m512 low_, high_, origin_, scale_;
  __m128i flip_;
  __m512 residual_zero_, residual_scale_;
};

}  // namespace tenon::cpu::TENON_ISA
