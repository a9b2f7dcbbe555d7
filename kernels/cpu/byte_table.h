// 256 bytes, each of which a byte chooses. Per-ISA code.
#pragma once
#include "kernels/cpu/simd_bytes.h"

namespace tenon::cpu::TENON_ISA {

class ByteTable {
 public:
#if defined(__AVX512BW__)
  explicit TENON_INLINE ByteTable(const std::uint8_t* bytes) {
    TENON_UNROLL
    for (int i = 0; i < 4; i++) words_[i] = _mm512_loadu_si512(bytes + 64 * i);
  }
  /// What the lowest byte of each lane chooses.
  TENON_INLINE vi at(vi code) const {
    const auto pair = reinterpret_cast<__m512i>((code & 255) >> 1);
    const vi low = reinterpret_cast<vi>(_mm512_permutex2var_epi16(words_[0], pair, words_[1]));
    const vi high = reinterpret_cast<vi>(_mm512_permutex2var_epi16(words_[2], pair, words_[3]));
    return (((code & 128) == 0 ? low : high) >> ((code & 1) << 3)) & 255;
  }
  /// What each of 64 bytes chooses.
  TENON_INLINE __m512i of_bytes(__m512i bytes) const {
    const __m512i low = of_words(_mm512_and_si512(bytes, _mm512_set1_epi16(255)));
    const __m512i high = of_words(_mm512_srli_epi16(bytes, 8));
    return _mm512_or_si512(low, _mm512_slli_epi16(high, 8));
  }

 private:
  // Of words from 0 to 255.
  TENON_INLINE __m512i of_words(__m512i code) const {
    const __m512i pair = _mm512_srli_epi16(code, 1);
    const __m512i low = _mm512_permutex2var_epi16(words_[0], pair, words_[1]);
    const __m512i high = _mm512_permutex2var_epi16(words_[2], pair, words_[3]);
    const __mmask32 is_high = _mm512_test_epi16_mask(code, _mm512_set1_epi16(128));
    const __m512i shift = _mm512_and_si512(_mm512_slli_epi16(code, 3), _mm512_set1_epi16(8));
    const __m512i chosen = _mm512_srlv_epi16(_mm512_mask_blend_epi16(is_high, low, high), shift);
    return _mm512_and_si512(chosen, _mm512_set1_epi16(255));
  }

  __m512i words_[4];
#else
  explicit TENON_INLINE ByteTable(const std::uint8_t* bytes) : bytes_(bytes) {}
  TENON_INLINE vi at(vi code) const {
    vi found{};
    TENON_UNROLL
    for (int i = 0; i < VL; i++) found[i] = bytes_[code[i] & 255];
    return found;
  }
#if defined(__AVX2__)
  /// What each of 32 bytes chooses.
  TENON_INLINE __m256i of_bytes(__m256i bytes) const {
    alignas(32) std::uint8_t each[sizeof bytes];
    _mm256_store_si256(reinterpret_cast<__m256i*>(each), bytes);
    for (std::uint8_t& byte : each) byte = bytes_[byte];
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(each));
  }
#endif

 private:
  const std::uint8_t* bytes_;
#endif
};

}  // namespace tenon::cpu::TENON_ISA
