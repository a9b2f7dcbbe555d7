// Built for AVX-512's dot product of bytes alone.
#include "kernels/cpu/integer_depthwise_row.h"

#include "kernels/cpu/sum_codes.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// 64 sums in the order of depthwise_order.
struct Sums {
  __m512i part[4];
};

TENON_INLINE __m512i load_bytes(const void* p) { return _mm512_loadu_si512(p); }

// Four taps of each byte beside each other, times their weights.
TENON_INLINE void add_taps(const std::uint8_t* const* taps, long at, const __m512i (&weights)[4],
                           Sums& sums) {
  const __m512i a = load_bytes(taps[0] + at), b = load_bytes(taps[1] + at), c = load_bytes(taps[2] + at),
                d = load_bytes(taps[3] + at);
  const __m512i ab_low = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b),
                cd_low = _mm512_unpacklo_epi8(c, d), cd_high = _mm512_unpackhi_epi8(c, d);
  const auto add = [&](int i, __m512i four) __attribute__((always_inline)) {
    sums.part[i] = _mm512_dpbusd_epi32(sums.part[i], four, weights[i]);
  };
  add(0, _mm512_unpacklo_epi16(ab_low, cd_low));
  add(1, _mm512_unpackhi_epi16(ab_low, cd_low));
  add(2, _mm512_unpacklo_epi16(ab_high, cd_high));
  add(3, _mm512_unpackhi_epi16(ab_high, cd_high));
}

struct Block {
  const DepthwiseRow& row;
  long phase;

  const std::int8_t* weights(long group) const {
    return row.weights + (phase * row.groups + group) * 4 * depthwise_block;
  }
  TENON_INLINE __m512 number(const Sums& sums, int i) const {
    const long at = phase * depthwise_block + 16 * i;
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums.part[i]), _mm512_loadu_ps(row.scales + at),
                           _mm512_loadu_ps(row.bias + at));
  }
};

// `count` blocks, a round of phases apart.
template <int count>
TENON_INLINE void sum_blocks(const Block& block, long at, Sums (&sums)[count]) {
  const DepthwiseRow& row = block.row;
  const long distance = row.phases * depthwise_block;
  TENON_UNROLL
  for (int n = 0; n < count; n++) {
    TENON_UNROLL
    for (int i = 0; i < 4; i++)
      sums[n].part[i] = load_bytes(row.offsets + block.phase * depthwise_block + 16 * i);
  }
  for (long g = 0; g < row.groups; g++) {
    __m512i weights[4];
    TENON_UNROLL
    for (int i = 0; i < 4; i++) weights[i] = load_bytes(block.weights(g) + 64 * i);
    TENON_UNROLL
    for (int n = 0; n < count; n++) add_taps(row.taps + 4 * g, at + n * distance, weights, sums[n]);
  }
}

TENON_INLINE __mmask64 first_bytes(long count) {
  return count >= depthwise_block ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}
TENON_INLINE __mmask16 first_lanes(long count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFF : count <= 0 ? 0 : (1 << count) - 1);
}

struct ToCodes {
  SumCoder coder;
  TENON_INLINE void store(const Block& block, const Sums& sums, long at) const {
    const auto number = [&](int i) __attribute__((always_inline)) {
      return reinterpret_cast<vf>(block.number(sums, i));
    };
    const __m512i bytes = coder.bytes(number(0), number(1), number(2), number(3));
    const long left = block.row.bytes - at;
    if (left >= depthwise_block)
      _mm512_storeu_si512(block.row.to_codes + at, bytes);
    else
      _mm512_mask_storeu_epi8(block.row.to_codes + at, first_bytes(left), bytes);
  }
};
struct ToFloats {
  TENON_INLINE void store(const Block& block, const Sums& sums, long at) const {
    const __m512 a = block.number(sums, 0), b = block.number(sums, 1), c = block.number(sums, 2),
                 d = block.number(sums, 3);
    // Lanes of 128 bits, transposed.
    const __m512 even_ab = _mm512_shuffle_f32x4(a, b, 0x88), odd_ab = _mm512_shuffle_f32x4(a, b, 0xDD),
                 even_cd = _mm512_shuffle_f32x4(c, d, 0x88), odd_cd = _mm512_shuffle_f32x4(c, d, 0xDD);
    const __m512 natural[4] = {
        _mm512_shuffle_f32x4(even_ab, even_cd, 0x88), _mm512_shuffle_f32x4(odd_ab, odd_cd, 0x88),
        _mm512_shuffle_f32x4(even_ab, even_cd, 0xDD), _mm512_shuffle_f32x4(odd_ab, odd_cd, 0xDD)};
    TENON_UNROLL
    for (int i = 0; i < 4; i++) {
      const long first = at + 16 * i;
      _mm512_mask_storeu_ps(block.row.to_floats + first, first_lanes(block.row.bytes - first), natural[i]);
    }
  }
};

template <class Store>
void run(const DepthwiseRow& row, const Store& to) {
  const long distance = row.phases * depthwise_block;
  for (long phase = 0; phase < row.phases; phase++) {
    const Block block{row, phase};
    long at = phase * depthwise_block;
    for (; at + distance < row.bytes; at += 2 * distance) {
      Sums sums[2];
      sum_blocks(block, at, sums);
      to.store(block, sums[0], at);
      to.store(block, sums[1], at + distance);
    }
    if (at < row.bytes) {
      Sums sums[1];
      sum_blocks(block, at, sums);
      to.store(block, sums[0], at);
    }
  }
}

}  // namespace

void integer_depthwise_row(const DepthwiseRow& row) {
  if (row.codes)
    run(row, ToCodes{SumCoder(*row.codes)});
  else
    run(row, ToFloats{});
}

void copy_unsigned(const std::uint8_t* from, long count, bool is_signed, std::uint8_t* to) {
  const __m512i sign = _mm512_set1_epi8(static_cast<char>(is_signed ? 128 : 0));
  for (long i = 0; i < count; i += 64) {
    const __mmask64 inside = first_bytes(count - i);
    const __m512i bytes = _mm512_maskz_loadu_epi8(inside, from + i);
    _mm512_mask_storeu_epi8(to + i, inside, _mm512_xor_si512(bytes, sign));
  }
}

}  // namespace tenon::cpu::TENON_ISA
