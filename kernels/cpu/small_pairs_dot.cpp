// Small products on AVX-512's dot product of bfloat16 pairs: the right side is packed on the stack, the left
// one is read where it lies. Built for that alone.
#include "kernels/cpu/pair_rounding.h"
#include "kernels/cpu/small_pairs.h"

namespace tenon::cpu::TENON_ISA {

/// Of transpose_block.cpp: target[c][r] = source[r][c].
void transpose_block(long rows, long cols, const float* source, long source_stride, float* target,
                     long target_stride);

namespace {

constexpr int tile_rows = 12;

// Pairs of consecutive k of B: [pairs][vectors of columns], anything beyond the last column.
struct Packed {
  alignas(64) float words[SmallPairs::most_words];
  long vectors;

  float* at(long pair, long vector) { return words + (pair * vectors + vector) * VL; }
  const float* at(long pair, long vector) const { return words + (pair * vectors + vector) * VL; }
};

void pack_rows(const SmallPairs& p, const std::uint16_t* b, Packed& packed) {
  for (long k = 0; k < p.K; k += 2, b += 2 * p.b_row)
    for (long v = 0; v < packed.vectors; v++) {
      const int lanes = static_cast<int>(p.N - v * VL < VL ? p.N - v * VL : VL);
      const auto row = [&](long i) __attribute__((always_inline)) {
        return reinterpret_cast<vu>(widen(load_lanes(b + i * p.b_row + v * VL, lanes)));
      };
      const vu even = row(0), odd = k + 1 < p.K ? row(1) : vu{};
      store(packed.at(k / 2, v), reinterpret_cast<vf>(even | odd << 16));
    }
}

void pack_elements(const SmallPairs& p, const std::uint16_t* b, Packed& packed) {
  for (long k = 0; k < p.K; k += 2)
    for (long v = 0; v < packed.vectors; v++) {
      vu pairs{};
      for (long n = v * VL; n < p.N && n < (v + 1) * VL; n++) {
        const std::uint16_t* const even = b + k * p.b_row + n * p.b_column;
        const std::uint32_t odd = k + 1 < p.K ? even[p.b_row] : 0;
        pairs[n - v * VL] = *even | odd << 16;
      }
      store(packed.at(k / 2, v), reinterpret_cast<vf>(pairs));
    }
}

// Pairs that lie together in B, too, are moved like floats.
bool has_pairs(const SmallPairs& p, const std::uint16_t* b) {
  return p.b_row == 1 && p.K % 2 == 0 && p.b_column % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(b) % alignof(float) == 0;
}

void pack(const SmallPairs& p, const std::uint16_t* b, Packed& packed) {
  if (p.b_column == 1) return pack_rows(p, b, packed);
  if (!has_pairs(p, b)) return pack_elements(p, b, packed);
  transpose_block(p.N, p.K / 2, reinterpret_cast<const float*>(b), p.b_column / 2, packed.words,
                  packed.vectors * VL);
}

TENON_INLINE vf dot(vf sum, std::uint32_t pair, vf factors) {
  return reinterpret_cast<vf>(_mm512_dpbf16_ps(
      reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(pair))),
      reinterpret_cast<__m512bh>(factors)));
}

// Where the rows of a tile begin.
struct Place {
  const std::uint16_t* a;
  const void* residual;
  std::uint16_t* c;
};

// `Rows` rows of the columns of `Vectors` vectors from this one on, the last one of `last_lanes`.
template <int Rows, int Vectors>
[[gnu::noinline]] void run_tile(const SmallPairs& p, const Packed& packed, long vector, int last_lanes,
                                const Place& at) {
  const std::uint16_t* const a = at.a;
  vf sum[Rows][Vectors] = {};
  const auto add_pair = [&](long pair, auto word_at) __attribute__((always_inline)) {
    vf factors[Vectors];
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) factors[j] = load(packed.at(pair, vector + j));
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      const std::uint32_t word = word_at(a + i * p.a_row + 2 * pair);
      TENON_UNROLL
      for (int j = 0; j < Vectors; j++) sum[i][j] = dot(sum[i][j], word, factors[j]);
    }
  };
  const long whole = p.K / 2;
  for (long pair = 0; pair < whole; pair++)
    add_pair(
        pair, [](const std::uint16_t* from) __attribute__((always_inline)) {
          std::uint32_t word;
          __builtin_memcpy(&word, from, sizeof word);
          return word;
        });
  if (p.K % 2 != 0)
    add_pair(
        whole, [](const std::uint16_t* from) __attribute__((always_inline)) { return std::uint32_t{*from}; });
  if (p.rounding.adds || p.rounding.activation.kind != Activation::Kind::none) {
    long rows[Rows];
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) rows[i] = i * p.residual_row;
    finish_pairs(p.rounding, at.residual, rows, sum, last_lanes);
  }
  each_of_pairs<Rows, Vectors>(
      last_lanes, [&](int i, int j, int lanes) __attribute__((always_inline)) {
        store_lanes(at.c + i * p.c_row + j * VL, narrow_pairs(sum[i][j]), lanes);
      });
}

using Tile = void (*)(const SmallPairs&, const Packed&, long, int, const Place&);
template <int Vectors, int... I>
Tile tile_of(long rows, LaneList<I...>) {
  static constexpr Tile tiles[] = {run_tile<I + 1, Vectors>...};
  return tiles[rows - 1];
}
Tile tile_of(long rows, long vectors) {
  const auto heights = MakeLaneList<tile_rows>::type{};
  return vectors == 1 ? tile_of<1>(rows, heights) : tile_of<2>(rows, heights);
}

}  // namespace

void small_pairs_by_dot(const SmallPairs& p, long first, long last);
void small_pairs_by_dot(const SmallPairs& p, long first, long last) {
  Packed packed;
  packed.vectors = (p.N + VL - 1) / VL;
  const long tiles = (p.M + tile_rows - 1) / tile_rows, height = (p.M + tiles - 1) / tiles;
  for (long i = first; i < last; i++) {
    const std::uint16_t *const a = p.a + i * p.a_batch, *const b = p.b + i * p.b_batch;
    std::uint16_t* const c = p.c + i * p.c_batch;
    if (i == first || p.b_batch != 0) pack(p, b, packed);
    for (long v = 0; v < packed.vectors; v += 2) {
      const long left = packed.vectors - v, vectors = left < 2 ? left : 2;
      const long lanes = p.N - (v + vectors - 1) * VL;
      for (long m = 0; m < p.M; m += height) {
        const long rows = p.M - m < height ? p.M - m : height;
        const long residual = i * p.residual_batch + m * p.residual_row + v * VL;
        tile_of(rows, vectors)(p, packed, v, static_cast<int>(lanes < VL ? lanes : VL),
                               {.a = a + m * p.a_row,
                                .residual = p.residual ? p.rounding.further(p.residual, residual) : nullptr,
                                .c = c + m * p.c_row + v * VL});
      }
    }
  }
}

}  // namespace tenon::cpu::TENON_ISA
