// Register tiles of bytes, whose sums become codes before they are stored. Per-ISA code.
#pragma once
#include "kernels/cpu/sum_codes.h"
#include "kernels/cpu/tile_loop.h"

namespace tenon::cpu::TENON_ISA {

// What the sums of consecutive columns stand for.
template <int Vectors>
class NumbersOfSums {
 public:
  TENON_INLINE NumbersOfSums(const Tile& t, long col, int last_lanes) {
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) {
      scale_[j] = load(t.integer_scales + col + j * VL);
      bias_[j] = t.bias ? load_lanes(t.bias + col + j * VL, j == Vectors - 1 ? last_lanes : VL) : vf{};
    }
  }
  TENON_INLINE vf of(vf sum, int j) const {
    const vf whole = to_float(bits(sum));
    return reinterpret_cast<vf>(product_and(reinterpret_cast<Native>(whole),
                                            reinterpret_cast<Native>(scale_[j]),
                                            reinterpret_cast<Native>(bias_[j])));
  }

 private:
  vf scale_[Vectors], bias_[Vectors];
};

// One vector's bytes after the other's.
static TENON_INLINE Codes in_vectors(Codes bytes) {
#if defined(__AVX512F__)
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, bytes);
#else
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
#endif
}

#if !defined(__AVX512F__)
static TENON_PARTIAL void store_first(std::uint8_t* to, Codes bytes, long from, long count) {
  std::uint8_t all[sizeof bytes];
  __builtin_memcpy(all, &bytes, sizeof bytes);
  for (long i = 0; i < count; i++) to[i] = all[from + i];
}
#endif

// The bytes of so many vectors, which are those of row r, of which the last one has `last_lanes`.
template <int vectors>
static TENON_INLINE void store_row(std::uint8_t* to, Codes bytes, int r, int last_lanes) {
  const long count = (vectors - 1) * VL + last_lanes;
#if defined(__AVX512F__)
  const __mmask64 inside = ~__mmask64{0} >> (64 - count);
  if constexpr (vectors == 4) {
    last_lanes == VL ? _mm512_storeu_si512(to, bytes) : _mm512_mask_storeu_epi8(to, inside, bytes);
  } else if constexpr (vectors == 2) {
    const __m256i half = r == 0 ? _mm512_extracti64x4_epi64(bytes, 0) : _mm512_extracti64x4_epi64(bytes, 1);
    if (last_lanes == VL)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), half);
    else
      _mm256_mask_storeu_epi8(to, static_cast<__mmask32>(inside), half);
  } else {
    const __m128i part = r == 0   ? _mm512_extracti32x4_epi32(bytes, 0)
                         : r == 1 ? _mm512_extracti32x4_epi32(bytes, 1)
                         : r == 2 ? _mm512_extracti32x4_epi32(bytes, 2)
                                  : _mm512_extracti32x4_epi32(bytes, 3);
    _mm_mask_storeu_epi8(to, static_cast<__mmask16>(inside), part);
  }
#else
  const __m128i half =
      vectors == 4 || r < 2 / vectors ? _mm256_castsi256_si128(bytes) : _mm256_extracti128_si256(bytes, 1);
  const long long part = vectors == 1 && r % 2 == 1 ? _mm_extract_epi64(half, 1) : _mm_cvtsi128_si64(half);
  if (last_lanes < VL)
    store_first(to, bytes, r * vectors * VL, count);
  else if constexpr (vectors == 4)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
  else if constexpr (vectors == 2)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), half);
  else
    __builtin_memcpy(to, &part, sizeof part);
#endif
}

template <int Rows, int Vectors>
static TENON_INLINE void store_codes_of(const Tile& t, long col, const vf (&number)[Rows][Vectors],
                                        int last_lanes) {
  const SumCoder coder(*t.codes);
  std::uint8_t* const to = t.codes_to + col;
  constexpr int rows = Vectors < 4 ? 4 / Vectors : 1, columns = 4 / rows;  // of four vectors
  TENON_UNROLL
  for (int i = 0; i < Rows; i += rows) {
    TENON_UNROLL
    for (int j = 0; j < Vectors; j += columns) {
      // Behind the last row comes that again.
      const auto number_at = [&](int n) __attribute__((always_inline)) {
        const int row = i + n / columns;
        return number[row < Rows ? row : Rows - 1][j + n % columns];
      };
      const Codes bytes = in_vectors(coder.bytes(number_at(0), number_at(1), number_at(2), number_at(3)));
      TENON_UNROLL
      for (int r = 0; r < rows; r++) {
        if (i + r >= Rows) break;
        const bool is_last = j + columns == Vectors;
        store_row<columns>(to + t.c_row[i + r] + j * VL, bytes, r, is_last ? last_lanes : VL);
      }
    }
  }
}

// Does what Tile::codes says.
template <int Rows, int Vectors>
static TENON_INLINE void store_tile_codes(const Tile& t, long col, const vf (&sum)[Rows][Vectors],
                                          int last_lanes) {
  vf number[Rows][Vectors];
  const NumbersOfSums<Vectors> numbers(t, col, last_lanes);
  TENON_UNROLL
  for (int i = 0; i < Rows; i++) {
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) number[i][j] = numbers.of(sum[i][j], j);
  }
  if (t.residual_codes) {
    const SumWithResidual with_residual(*t.codes->residual);
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      TENON_UNROLL
      for (int j = 0; j < Vectors; j++) {
        const std::uint8_t* const from = t.residual_codes + col + t.c_row[i] + j * VL;
        number[i][j] = with_residual.of(number[i][j], load_lanes(from, j == Vectors - 1 ? last_lanes : VL));
      }
    }
  }
  store_codes_of(t, col, number, last_lanes);
}

// What forms of the tile (tile_loop.h) that multiply bytes have in common.
struct BytesToCodes : PlainForm {
  static constexpr bool sums_are_integers = true;
  static constexpr bool makes_codes = true;
  template <int Rows, int Vectors>
  static TENON_INLINE void store_codes(const Tile& t, long col, const vf (&sum)[Rows][Vectors],
                                       int last_lanes) {
    store_tile_codes(t, col, sum, last_lanes);
  }
};

}  // namespace tenon::cpu::TENON_ISA
