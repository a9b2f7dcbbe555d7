// Loads of strided floats, and of and to the 16-bit formats. Part of loop_ops_simd.cpp, built once per ISA.
#pragma once
#include "kernels/cpu/loop_ops.h"
#include "kernels/cpu/math.h"

namespace tenon::cpu::TENON_ISA {

/// Of transpose_block.cpp.
void transpose_block(long rows, long cols, const float* source, long source_stride, float* target,
                     long target_stride);

namespace {

void load_f32(const Transfer& t) {
  const float* const memory = reinterpret_cast<const float*>(t.memory);
  float* const values = static_cast<float*>(t.values);
  if (t.col_stride == 1) {
    for (long r = 0; r < t.rows; r++) {
      const float* const from = memory + r * t.row_stride;
      float* const to = values + r * t.values_pitch;
      for (long c = 0; c < t.cols; c++) to[c] = from[c];
    }
  } else if (t.row_stride == 1 && t.rows >= VL) {
    transpose_block(t.cols, t.rows, memory, t.col_stride, values, t.values_pitch);
  } else {
    for (long r = 0; r < t.rows; r++) {
      const float* const from = memory + r * t.row_stride;
      float* const to = values + r * t.values_pitch;
      for (long c = 0; c < t.cols; c++) to[c] = from[c * t.col_stride];
    }
  }
}

typedef std::uint16_t vh __attribute__((vector_size(VL * 2)));
typedef std::uint16_t vh_unaligned __attribute__((vector_size(VL * 2), aligned(2), may_alias));

/// A 16-bit format: widen() gives floats, narrow() rounds to nearest even.
struct F16 {
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
  static TENON_INLINE vf widen(vh h) { return reinterpret_cast<vf>(__builtin_convertvector(h, vu) << 16); }
  static TENON_INLINE vh narrow(vf f) {
    const vu x = reinterpret_cast<vu>(f);
    const vu rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    return __builtin_convertvector((x & 0x7fffffffu) > 0x7f800000u ? (x >> 16) | 0x40u : rounded, vh);
  }
};

template <class Format>
void load_16_bit(const Transfer& transfer) {
  const Transfer t = transfer;  // what is written may not lie here
  const long whole = t.col_stride == 1 ? t.cols / VL * VL : 0;
  for (long r = 0; r < t.rows; r++) {
    const auto* const from = reinterpret_cast<const std::uint16_t*>(t.memory) + r * t.row_stride;
    float* const to = static_cast<float*>(t.values) + r * t.values_pitch;
    for (long c = 0; c < whole; c += VL)
      store(to + c, Format::widen(*reinterpret_cast<const vh_unaligned*>(from + c)));
    for (long c = whole; c < t.cols; c += VL) {
      const int count = static_cast<int>(t.cols - c < VL ? t.cols - c : VL);
      vh h{};
      for (int i = 0; i < count; i++) h[i] = from[(c + i) * t.col_stride];
      store_partial(to + c, Format::widen(h), count);
    }
  }
}
template <class Format>
void store_16_bit(const Transfer& transfer) {
  const Transfer t = transfer;
  const long whole = t.col_stride == 1 ? t.cols / VL * VL : 0;
  for (long r = 0; r < t.rows; r++) {
    const float* const from = static_cast<const float*>(t.values) + r * t.values_pitch;
    auto* const to = reinterpret_cast<std::uint16_t*>(t.memory) + r * t.row_stride;
    const vh splat = Format::narrow(broadcast(t.splat && t.cols > 0 ? *from : 0.0f));
    for (long c = 0; c < whole; c += VL)
      *reinterpret_cast<vh_unaligned*>(to + c) = t.splat ? splat : Format::narrow(load(from + c));
    for (long c = whole; c < t.cols; c += VL) {
      const int count = static_cast<int>(t.cols - c < VL ? t.cols - c : VL);
      const vh h = t.splat ? splat : Format::narrow(load_partial(from + c, count));
      for (int i = 0; i < count; i++) to[(c + i) * t.col_stride] = h[i];
    }
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
