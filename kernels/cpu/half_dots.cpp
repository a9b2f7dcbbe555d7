// Dot products of 16-bit floats: a few rows at once share what is read of the vector. Built once per ISA.
#include "kernels/cpu/half_dots.h"

#include "kernels/cpu/simd_half.h"

namespace tenon::cpu::TENON_ISA {
namespace {

template <class Format>
static TENON_INLINE vf widened(const std::uint16_t* p) {
  return Format::widen(*reinterpret_cast<const typename Format::Unaligned*>(p));
}
/// The first `count`, zero in the other lanes.
template <class Format>
static TENON_INLINE vf widened(const std::uint16_t* p, long count) {
  typename Format::Vector h{};
  for (long i = 0; i < count; i++) h[i] = p[i];
  return Format::widen(h);
}

template <class Format, int Rows>
static TENON_INLINE void dot_rows(const HalfDots& d, long m) {
  vf sum[Rows][2] = {};
  const std::uint16_t* const a = d.a + m * d.a_row;
  long k = 0;
  for (; k + 2 * VL <= d.depth; k += 2 * VL) {
    const vf x = widened<Format>(d.x + k), y = widened<Format>(d.x + k + VL);
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      sum[i][0] += x * widened<Format>(a + i * d.a_row + k);
      sum[i][1] += y * widened<Format>(a + i * d.a_row + k + VL);
    }
  }
  for (; k < d.depth; k += VL) {
    const long count = d.depth - k < VL ? d.depth - k : VL;
    const vf x = widened<Format>(d.x + k, count);
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) sum[i][0] += x * widened<Format>(a + i * d.a_row + k, count);
  }
  const float bias = d.bias ? widened<Format>(d.bias, 1)[0] : 0.0f;
  TENON_UNROLL
  for (int i = 0; i < Rows; i++)
    d.y[m + i] = Format::narrow(broadcast(hsum(sum[i][0] + sum[i][1]) + bias))[0];
}

template <class Format>
static void all_rows(const HalfDots& d, long first, long last) {
  constexpr int at_once = 4;
  long m = first;
  for (; m + at_once <= last; m += at_once) dot_rows<Format, at_once>(d, m);
  for (; m < last; m++) dot_rows<Format, 1>(d, m);
}

}  // namespace

void half_dots(const HalfDots& d, long first, long last) {
  d.type == DType::f16 ? all_rows<F16>(d, first, last) : all_rows<BF16>(d, first, last);
}

}  // namespace tenon::cpu::TENON_ISA
