// Register tiles of bfloat16 pairs, whose sums are rounded before they are stored. Per-ISA code.
#pragma once
#include <limits>

#include "kernels/cpu/pair_rounding.h"
#include "kernels/cpu/tile_loop.h"

namespace tenon::cpu::TENON_ISA {

// What is done to most sums of pairs: bias, residual of bfloat16, relu, and all is rounded.
struct ShortFinish {
  const float* bias;              // or null
  const std::uint16_t* residual;  // or null
  bool rounds_first;
  vf low;  // what is below becomes so
  std::uint16_t* halves;

  // Is it all that the tile says?
  static TENON_INLINE bool does(const Tile& t) {
    using enum Activation::Kind;
    if (!t.rounded || !t.rounded->halves || t.partial || t.residual || t.added || t.last_lanes != VL)
      return false;
    const RoundedRows& how = *t.rounding;
    const bool is_simple = how.activation.kind == none || how.activation.kind == relu;
    return is_simple && rounds_in_registers(how) && (!how.adds || how.residual_is_half) &&
           t.activation.kind == none;
  }
  TENON_INLINE ShortFinish(const Tile& t, long col)
      : bias(t.bias ? t.bias + col : nullptr),
        residual(t.rounding->adds ? static_cast<const std::uint16_t*>(t.rounded->residual) + col : nullptr),
        rounds_first(residual && !t.rounding->adds_to_sum),
        low(vf{} + (t.rounding->activation.kind == Activation::Kind::relu
                        ? 0
                        : -std::numeric_limits<float>::infinity())),
        halves(t.rounded->halves + col) {}

  // Rows of two vectors, `distance` floats apart.
  TENON_INLINE void rows(const Tile& t, long first, long count, const float* sums, long distance) const {
    if (!residual)
      rows_as<false, false>(t, first, count, sums, distance);
    else if (rounds_first)
      rows_as<true, true>(t, first, count, sums, distance);
    else
      rows_as<true, false>(t, first, count, sums, distance);
  }

 private:
  template <bool Adds, bool RoundsFirst>
  TENON_INLINE void rows_as(const Tile& t, long first, long count, const float* sums, long distance) const {
    const vf zero{};
    const TwoVectors b = bias ? TwoVectors{load(bias), load(bias + VL)} : TwoVectors{zero, zero};
    const vf least = low;
    const std::uint16_t* const from = residual;
    std::uint16_t* const to = halves;
    const long* const to_rows = t.rounded->halves_rows + first;
    const long* const from_rows = t.rounded->residual_rows + first;
    for (long i = 0; i < count; i++, sums += distance) {
      TwoVectors x{load(sums) + b.first, load(sums + VL) + b.second};
      if constexpr (RoundsFirst)
        x = {BF16::widen(narrow_pairs(x.first)), BF16::widen(narrow_pairs(x.second))};
      if constexpr (Adds) {
        const TwoVectors r = widen_two(from + from_rows[i]);
        x.first += r.first, x.second += r.second;
      }
      store_two(to + to_rows[i], {max_or_b(least, x.first), max_or_b(least, x.second)});
    }
  }
};

// What forms of the tile (tile_loop.h) that multiply pairs have in common.
struct PairsToHalves : PlainForm {
  static constexpr bool rounds = true;
  static TENON_INLINE bool can_round(const RoundedRows& how) { return rounds_in_registers(how); }
  template <int Rows, int Vectors>
  static TENON_INLINE void store_rounded(const Tile& t, long col, float* c, vf (&x)[Rows][Vectors],
                                         int last_lanes) {
    using enum Activation::Kind;
    const RoundedRows how = *t.rounding;  // a store could change what a tile points to
    const RoundedTile to = *t.rounded;
    const void* const residual = how.adds ? how.further(to.residual, col) : nullptr;
    finish_pairs(how, residual, to.residual_rows, x, last_lanes);
    if (to.halves) {
      std::uint16_t* row[Rows];
      TENON_UNROLL
      for (int i = 0; i < Rows; i++) row[i] = to.halves + col + to.halves_rows[i];
      each_vector<Rows, Vectors>(
          last_lanes, [&](int i, int j, int lanes) __attribute__((always_inline)) {
            store_lanes(row[i] + j * VL, narrow_pairs(x[i][j]), lanes);
          });
      return;
    }
    const bool is_rounded = how.adds || (how.activation.kind != none && how.activation.kind != relu);
    if (how.rounds_result || !is_rounded) round_pairs(x);
    float* row[Rows];
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) row[i] = c + t.c_row[i];
    each_vector<Rows, Vectors>(
        last_lanes, [&](int i, int j, int lanes)
                        __attribute__((always_inline)) { store_lanes(row[i] + j * VL, x[i][j], lanes); });
  }
};

}  // namespace tenon::cpu::TENON_ISA
