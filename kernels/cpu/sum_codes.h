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

}  // namespace tenon::cpu::TENON_ISA
