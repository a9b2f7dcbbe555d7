// The register tile on AVX-512's dot product of bfloat16 pairs. Built for that alone.
#include "kernels/cpu/pair_rounding.h"
#include "kernels/cpu/tile_loop.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// Both products are exact, and are added in float32 one after the other, the second first. Subnormal numbers
// count as zero (Intel's manual, VDPBF16PS).
struct DotOfPairs : PlainForm {
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
  static TENON_INLINE vf add(vf sum, vf x, vf factor) {
    return reinterpret_cast<vf>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(x),
                                                 reinterpret_cast<__m512bh>(factor)));
  }
};

}  // namespace

bool runs_bf16_dot();
// AMD's give twice the rate of float32 (Zen 5; Zen 4: 232 against 117 GFLOP/s). Intel's give half of it
// (measured on Emerald Rapids: 96 against 185 GFLOP/s), so pairs are widened there.
bool runs_bf16_dot() {
  static const bool runs = __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_is("amd") != 0;
  return runs;
}

TileKernel bf16_dot_tile(const TileCall& call);
TileKernel bf16_dot_tile(const TileCall& call) { return pick_tile<DotOfPairs>(call); }

}  // namespace tenon::cpu::TENON_ISA
