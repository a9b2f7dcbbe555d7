// Vectors of bytes, as many as there are floats in a vector.
#pragma once
#include "kernels/cpu/simd_half.h"

namespace tenon::cpu::TENON_ISA {

typedef std::uint8_t vb __attribute__((vector_size(VL)));
typedef std::uint8_t vb_unaligned __attribute__((vector_size(VL), aligned(1), may_alias));
typedef std::int8_t vsb __attribute__((vector_size(VL)));

static TENON_INLINE vb broadcast(std::uint8_t x) { return x - vb{}; }
static TENON_INLINE vb load(const std::uint8_t* p) { return *reinterpret_cast<const vb_unaligned*>(p); }
static TENON_INLINE void store(std::uint8_t* p, vb v) { *reinterpret_cast<vb_unaligned*>(p) = v; }
/// The first n bytes (0 <= n <= VL), and nothing else.
static TENON_PARTIAL vb load_partial(const std::uint8_t* p, int n) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  return reinterpret_cast<vb>(_mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << n) - 1u), p));
#else
  vb v{};
  for (int i = 0; i < n; i++) v[i] = p[i];
  return v;
#endif
}
static TENON_PARTIAL void store_partial(std::uint8_t* p, vb v, int n) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  _mm_mask_storeu_epi8(p, static_cast<__mmask16>((1u << n) - 1u), reinterpret_cast<__m128i>(v));
#else
  for (int i = 0; i < n; i++) p[i] = v[i];
#endif
}
static TENON_INLINE vb load_lanes(const std::uint8_t* p, int n) {
  return n == VL ? load(p) : load_partial(p, n);
}
static TENON_INLINE void store_lanes(std::uint8_t* p, vb v, int n) {
  n == VL ? store(p, v) : store_partial(p, v, n);
}

// By instructions: g++ moves bytes that lie in memory one by one.
static TENON_INLINE vi widen(vb v) {
#if defined(__AVX512F__)
  return reinterpret_cast<vi>(_mm512_cvtepu8_epi32(reinterpret_cast<__m128i>(v)));
#elif defined(__AVX2__) && TENON_VL == 8
  return reinterpret_cast<vi>(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(__builtin_bit_cast(long long, v))));
#else
  return __builtin_convertvector(v, vi);
#endif
}
static TENON_INLINE vi widen_signed(vb v) {
#if defined(__AVX512F__)
  return reinterpret_cast<vi>(_mm512_cvtepi8_epi32(reinterpret_cast<__m128i>(v)));
#elif defined(__AVX2__) && TENON_VL == 8
  return reinterpret_cast<vi>(_mm256_cvtepi8_epi32(_mm_cvtsi64_si128(__builtin_bit_cast(long long, v))));
#else
  return __builtin_convertvector(reinterpret_cast<vsb>(v), vi);
#endif
}
/// The lowest byte of each.
static TENON_INLINE vb bytes_of(vu v) {
#if defined(__AVX512F__)
  return reinterpret_cast<vb>(_mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(v)));
#elif defined(__AVX2__) && TENON_VL == 8
  const __m256i lowest = _mm256_set1_epi32(0x0c080400);
  const __m256i words = _mm256_shuffle_epi8(reinterpret_cast<__m256i>(v), lowest);
  const __m128i bytes = _mm_unpacklo_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  return __builtin_bit_cast(vb, _mm_cvtsi128_si64(bytes));
#else
  return __builtin_convertvector(__builtin_convertvector(v, vh), vb);
#endif
}

}  // namespace tenon::cpu::TENON_ISA
