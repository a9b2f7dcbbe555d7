// Register tiles of bfloat16 pairs, whose sums are rounded before they are stored. Per-ISA code.
#pragma once
#include "kernels/cpu/pair_rounding.h"
#include "kernels/cpu/tile_loop.h"

namespace tenon::cpu::TENON_ISA {

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
