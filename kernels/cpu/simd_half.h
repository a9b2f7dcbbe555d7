// The 16-bit floating-point formats in vectors.
#pragma once
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

typedef std::uint16_t vh __attribute__((vector_size(VL * 2)));
typedef std::uint16_t vh_unaligned __attribute__((vector_size(VL * 2), aligned(2), may_alias));

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
  static TENON_INLINE vf widen(vh h) { return reinterpret_cast<vf>(__builtin_convertvector(h, vu) << 16); }
  static TENON_INLINE vh narrow(vf f) {
    const vu x = reinterpret_cast<vu>(f);
    const vu rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    return __builtin_convertvector((x & 0x7fffffffu) > 0x7f800000u ? (x >> 16) | 0x40u : rounded, vh);
  }
};

}  // namespace tenon::cpu::TENON_ISA
