// How a run of a row of A is written as the register tile reads it: in pairs of bfloat16, or as floats. Part
// of row_gemm.cpp, built once per ISA.
#pragma once
#include "kernels/cpu/simd_half.h"

namespace tenon::cpu::TENON_ISA {

// The upper halves of `length` floats, two in a word; the last one may be alone.
static inline void pack_pairs(const float* from, long length, float* to) {
  auto* const halves = reinterpret_cast<unsigned char*>(to);
  const auto cut = [](vf v) { return narrow(reinterpret_cast<vu>(v) >> 16); };
  long i = 0;
  for (; i + VL <= length; i += VL) {
    *reinterpret_cast<vh_unaligned*>(halves + 2 * i) = cut(load(from + i));
  }
  for (; i < length; i += 2) {
    const vh pair = cut(load_partial(from + i, length - i < 2 ? 1 : 2));
    __builtin_memcpy(halves + 2 * i, &pair, 4);
  }
}

// move(i) for the vectors of a run, which may overlap; one(i) for each element where it is shorter than one.
template <class Move, class One>
static TENON_INLINE void each_vector_of_run(long length, Move move, One one) {
  if (length < VL) {
    for (long i = 0; i < length; i++) one(i);
    return;
  }
  for (long i = 0; i + VL <= length; i += VL) move(i);
  if (length % VL != 0) move(length - VL);
}

// `length` elements of bfloat16, two in a word; the last one may be alone.
static inline void copy_pairs(const std::uint16_t* from, long length, float* to) {
  auto* const halves = reinterpret_cast<std::uint16_t*>(to);
  long i = 0;
  for (; i + VL <= length; i += VL) store(halves + i, load(from + i));
  const int left = static_cast<int>(length - i);
  if (left > 0) store_partial(halves + i, load_partial(from + i, left), left + left % 2);
}

// Copies of runs of one length, which fit a line of the cache: bytes, of which the last ones may be zeros.
class ShortRun {
 public:
  static bool fits(long bytes) { return VL == 16 && bytes <= 64; }
#if defined(__AVX512BW__)
  ShortRun(long bytes, long with_zeros) : from_(~0ULL >> (64 - bytes)), to_(~0ULL >> (64 - with_zeros)) {}
  TENON_INLINE void copy(const void* from, float* to) const {
    _mm512_mask_storeu_epi8(to, to_, _mm512_maskz_loadu_epi8(from_, from));
  }

 private:
  __mmask64 from_, to_;
#else
  ShortRun(long bytes, long with_zeros) : bytes_(bytes), zeros_(with_zeros - bytes) {}
  void copy(const void* from, float* to) const {
    auto* const bytes = reinterpret_cast<unsigned char*>(to);
    __builtin_memcpy(bytes, from, static_cast<unsigned long>(bytes_));
    __builtin_memset(bytes + bytes_, 0, static_cast<unsigned long>(zeros_));
  }

 private:
  long bytes_, zeros_;
#endif
};

// `length` words.
static inline void copy_words(const float* from, long length, float* to) {
  each_vector_of_run(
      length, [&](long i) { store(to + i, load(from + i)); }, [&](long i) { to[i] = from[i]; });
}

// The same as floats, an even number of them.
static inline void widen_run(const std::uint16_t* from, long length, float* to) {
  each_vector_of_run(
      length, [&](long i) { store(to + i, BF16::widen(load(from + i))); },
      [&](long i) { store_partial(to + i, BF16::widen(load_partial(from + i, 1)), 1); });
  if (length % 2 != 0) to[length] = 0;
}

}  // namespace tenon::cpu::TENON_ISA
