// Floats in three pieces of bfloat16 (float_pieces.h), in vectors. Per-ISA code.
#pragma once
#include "kernels/cpu/float_pieces.h"
#include "kernels/cpu/simd_half.h"

namespace tenon::cpu::TENON_ISA {

/// The pieces of a vector, each in the upper half of its word. Of an infinity, the second one is NaN.
struct SplitFloats {
  vu piece[FloatPieces::count];

  explicit TENON_INLINE SplitFloats(vf x) {
    TENON_UNROLL
    for (int p = 0; p < FloatPieces::count; p++) {
      piece[p] = reinterpret_cast<vu>(x) & 0xffff0000u;
      x -= reinterpret_cast<vf>(piece[p]);
    }
  }
};

/// The upper halves of the words of `first`, then those of `second`.
static TENON_INLINE vu upper_halves(vu first, vu second) {
#if defined(__AVX512BW__)
  alignas(64) static constexpr std::uint16_t odd[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                        23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                        45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  return reinterpret_cast<vu>(_mm512_permutex2var_epi16(
      reinterpret_cast<__m512i>(first), _mm512_load_si512(odd), reinterpret_cast<__m512i>(second)));
#else
  const vh halves[2] = {narrow(first >> 16), narrow(second >> 16)};
  vu both;
  __builtin_memcpy(&both, halves, sizeof both);
  return both;
#endif
}

/// What pieces of it, in upper halves, were.
static TENON_INLINE vf join_floats(const vu (&piece)[FloatPieces::count]) {
  const vf first = reinterpret_cast<vf>(piece[0]);
  const vf whole = first + (reinterpret_cast<vf>(piece[1]) + reinterpret_cast<vf>(piece[2]));
  return first - first == vf{} ? whole : first;
}

/// Rows that are too small for the unit are split a power of two larger, and their sums made smaller.
inline constexpr float of_small_rows = 0x1p96f, of_their_sums = 0x1p-96f;

/// A run of floats times `scale`, two in a word: piece p of it lies p * distance words behind `to`. `length`
/// is even, or ends the row, which is padded with zeros up to a whole step. Is the run too small for the
/// unit?
static inline bool split_run(const float* from, long length, float scale, float* to, long distance) {
  vi largest{};  // bits of the magnitudes, of each lane
  const auto write = [&](vf x, vf y, long i) {
    for (vf* const v : {&x, &y}) {
      const vi magnitude = bits(*v) & 0x7fffffff;
      largest = largest > magnitude ? largest : magnitude;
      *v *= scale;
    }
    const SplitFloats first(x), second(y);
    TENON_UNROLL
    for (int p = 0; p < FloatPieces::count; p++)
      store(to + p * distance + i / 2, reinterpret_cast<vf>(upper_halves(first.piece[p], second.piece[p])));
  };
  long i = 0;
  for (; i + 2 * VL <= length; i += 2 * VL) write(load(from + i), load(from + i + VL), i);
  if (i < length) {
    const auto rest = [&](long done) {
      const long left = length - i - done;
      return load_partial(from + i + done, static_cast<int>(left < 0 ? 0 : left < VL ? left : VL));
    };
    write(rest(0), rest(VL), i);
  }
  constexpr auto least = __builtin_bit_cast(std::int32_t, FloatPieces::least);
  return any(largest != 0) && !any(largest >= least);
}

}  // namespace tenon::cpu::TENON_ISA
