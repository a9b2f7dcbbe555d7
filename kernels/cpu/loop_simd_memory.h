// How numbers lie in a row, and loads of strided floats, and of and to the formats of 16 and 8 bits. Part of
// loop_ops_simd.cpp, built once per ISA.
#pragma once
#include "kernels/cpu/loop_ops.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/simd_float8.h"
#include "kernels/cpu/simd_half.h"

namespace tenon::cpu::TENON_ISA {

/// Of transpose_block.cpp.
void transpose_block(long rows, long cols, const float* source, long source_stride, float* target,
                     long target_stride);

namespace {

/// How numbers lie in a row: as floats, or in a format of 16 bits.
struct Floats {
  using Element = float;
  static TENON_INLINE vf get(const float* p) { return load(p); }
  static TENON_INLINE vf get(const float* p, int n) { return load_partial(p, n); }
  static TENON_INLINE void put(float* p, vf v) { store(p, v); }
  static TENON_INLINE void put(float* p, vf v, int n) { store_partial(p, v, n); }
};
template <class Format>
struct HalfFloats {
  using Element = typename Format::Element;
  using Unaligned = typename Format::Unaligned;
  static TENON_INLINE vf get(const Element* p) {
    return Format::widen(*reinterpret_cast<const Unaligned*>(p));
  }
  static TENON_INLINE vf get(const Element* p, int n) { return Format::widen(load_partial(p, n)); }
  static TENON_INLINE void put(Element* p, vf v) { *reinterpret_cast<Unaligned*>(p) = Format::narrow(v); }
  static TENON_INLINE void put(Element* p, vf v, int n) { store_partial(p, Format::narrow(v), n); }
};

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

template <class Format>
void load_small(const Transfer& transfer) {
  const Transfer t = transfer;  // what is written may not lie here
  const long whole = t.col_stride == 1 ? t.cols / VL * VL : 0;
  for (long r = 0; r < t.rows; r++) {
    const auto* const from = reinterpret_cast<const typename Format::Element*>(t.memory) + r * t.row_stride;
    float* const to = static_cast<float*>(t.values) + r * t.values_pitch;
    for (long c = 0; c < whole; c += VL)
      store(to + c, Format::widen(*reinterpret_cast<const typename Format::Unaligned*>(from + c)));
    for (long c = whole; c < t.cols; c += VL) {
      const int count = static_cast<int>(t.cols - c < VL ? t.cols - c : VL);
      typename Format::Vector h{};
      for (int i = 0; i < count; i++) h[i] = from[(c + i) * t.col_stride];
      store_partial(to + c, Format::widen(h), count);
    }
  }
}
template <class Format>
void store_small(const Transfer& transfer) {
  const Transfer t = transfer;
  const long whole = t.col_stride == 1 ? t.cols / VL * VL : 0;
  for (long r = 0; r < t.rows; r++) {
    const float* const from = static_cast<const float*>(t.values) + r * t.values_pitch;
    auto* const to = reinterpret_cast<typename Format::Element*>(t.memory) + r * t.row_stride;
    const auto splat = Format::narrow(broadcast(t.splat && t.cols > 0 ? *from : 0.0f));
    for (long c = 0; c < whole; c += VL)
      *reinterpret_cast<typename Format::Unaligned*>(to + c) =
          t.splat ? splat : Format::narrow(load(from + c));
    for (long c = whole; c < t.cols; c += VL) {
      const int count = static_cast<int>(t.cols - c < VL ? t.cols - c : VL);
      const auto h = t.splat ? splat : Format::narrow(load_partial(from + c, count));
      for (int i = 0; i < count; i++) to[(c + i) * t.col_stride] = h[i];
    }
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
