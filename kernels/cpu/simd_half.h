// The 16-bit floating-point formats in vectors.
#pragma once
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

typedef std::uint16_t vh __attribute__((vector_size(VL * 2)));
typedef std::uint16_t vh_unaligned __attribute__((vector_size(VL * 2), aligned(2), may_alias));

/// Elements as integers, and back. By instructions: g++ 12 makes two halves of such vectors.
static TENON_INLINE vi widen(vh h) {
#if defined(__AVX512F__)
  return reinterpret_cast<vi>(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(h)));
#elif defined(__AVX2__) && TENON_VL == 8
  return reinterpret_cast<vi>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(h)));
#else
  return __builtin_convertvector(h, vi);
#endif
}
static TENON_INLINE vh narrow(vu x) {  // x < 2^16
#if defined(__AVX512F__)
  return reinterpret_cast<vh>(_mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(x)));
#elif defined(__AVX2__) && TENON_VL == 8
  const auto all = reinterpret_cast<__m256i>(x);
  return reinterpret_cast<vh>(
      _mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
#else
  return __builtin_convertvector(x, vh);
#endif
}

/// A 16-bit format: its elements in memory and in vectors; widen() gives floats, narrow() rounds to nearest
/// even.
struct F16 {
  using Element = std::uint16_t;
  using Vector = vh;
  using Unaligned = vh_unaligned;
#if defined(__AVX512F__)
  static TENON_INLINE vf widen(vh h) {
    return reinterpret_cast<vf>(_mm512_cvtph_ps(reinterpret_cast<__m256i>(h)));
  }
  static TENON_INLINE vh narrow(vf f) {
    return reinterpret_cast<vh>(_mm512_cvtps_ph(reinterpret_cast<__m512>(f), _MM_FROUND_TO_NEAREST_INT));
  }
#elif defined(__F16C__) && TENON_VL == 8
  static TENON_INLINE vf widen(vh h) {
    return reinterpret_cast<vf>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(h)));
  }
  static TENON_INLINE vh narrow(vf f) {
    return reinterpret_cast<vh>(_mm256_cvtps_ph(reinterpret_cast<__m256>(f), _MM_FROUND_TO_NEAREST_INT));
  }
#else
  static TENON_INLINE vf widen(vh stored) {
    const vu h = __builtin_convertvector(stored, vu);
    const vu sign = (h & 0x8000u) << 16;
    const vu magnitude = (h & 0x7fffu) << 13;
    const vu finite = reinterpret_cast<vu>(reinterpret_cast<vf>(magnitude) * 0x1p112f);
    return reinterpret_cast<vf>(sign | ((h & 0x7c00u) == 0x7c00u ? magnitude | 0x7f800000u : finite));
  }
  static TENON_INLINE vh narrow(vf f) {
    const vu x = reinterpret_cast<vu>(f);
    const vu magnitude = x & 0x7fffffffu;
    const vu subnormal = reinterpret_cast<vu>(reinterpret_cast<vf>(magnitude) + 0.5f) - 0x3f000000u;
    const vu normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    vu result = magnitude < 0x38800000u ? subnormal : normal;
    result = magnitude >= 0x477ff000u ? vu{} + 0x7c00u : result;
    result = magnitude > 0x7f800000u ? vu{} + 0x7e00u : result;
    return __builtin_convertvector(result | ((x >> 16) & 0x8000u), vh);
  }
#endif
};
struct BF16 {
  using Element = std::uint16_t;
  using Vector = vh;
  using Unaligned = vh_unaligned;
  static TENON_INLINE vf widen(vh h) { return from_bits(cpu::TENON_ISA::widen(h) << 16); }
  static TENON_INLINE vh narrow(vf f) {
    const vu x = reinterpret_cast<vu>(f);
    const vu rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    return cpu::TENON_ISA::narrow(f == f ? rounded : (x >> 16) | 0x40u);
  }
};

static TENON_INLINE vh load(const std::uint16_t* p) { return *reinterpret_cast<const vh_unaligned*>(p); }
static TENON_INLINE void store(std::uint16_t* p, vh v) { *reinterpret_cast<vh_unaligned*>(p) = v; }
/// The first n elements of a 16-bit format (0 <= n <= VL), zero in the other lanes, and the same stored. They
/// touch nothing else.
static TENON_PARTIAL vh load_partial(const std::uint16_t* p, int n) {
#if defined(__AVX512F__)
  return reinterpret_cast<vh>(_mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1u), p));
#else
  vh v{};
  for (int i = 0; i < n; i++) v[i] = p[i];
  return v;
#endif
}
static TENON_PARTIAL void store_partial(std::uint16_t* p, vh v, int n) {
#if defined(__AVX512F__)
  _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << n) - 1u), reinterpret_cast<__m256i>(v));
#else
  for (int i = 0; i < n; i++) p[i] = v[i];
#endif
}
/// The same for 1 <= n <= VL, where n is VL most of the time.
static TENON_INLINE vh load_lanes(const std::uint16_t* p, int n) {
  return n == VL ? load(p) : load_partial(p, n);
}
static TENON_INLINE void store_lanes(std::uint16_t* p, vh v, int n) {
  n == VL ? store(p, v) : store_partial(p, v, n);
}

/// A row of floats, rounded to bfloat16.
static inline void narrow_row(const float* from, long cols, std::uint16_t* to) {
  for (long j = 0; j < cols; j += VL) {
    const int lanes = static_cast<int>(cols - j < VL ? cols - j : VL);
    store_lanes(to + j, BF16::narrow(load_lanes(from + j, lanes)), lanes);
  }
}

}  // namespace tenon::cpu::TENON_ISA
