// The register tile on AVX-512's dot product of bfloat16 pairs. Built for that alone.
#include "kernels/cpu/simd_half.h"
#include "kernels/cpu/tile_loop.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// To nearest even; subnormal numbers become zeros, as in the products.
struct Rounding {
  static TENON_INLINE vh narrow(vf x) {
    return reinterpret_cast<vh>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(x)));
  }
  static TENON_INLINE vf round(vf x) { return BF16::widen(narrow(x)); }
  template <int Rows, int Vectors>
  static TENON_INLINE void round_all(vf (&x)[Rows][Vectors]) {
    each_vector<Rows, Vectors>(
        VL, [&](int i, int j, int) __attribute__((always_inline)) { x[i][j] = round(x[i][j]); });
  }
};

// Both products are exact, and are added in float32 one after the other, the second first. Subnormal numbers
// count as zero (Intel's manual, VDPBF16PS).
struct DotOfPairs : PlainForm {
  static constexpr bool rounds = true;
  static TENON_INLINE bool can_round(const RoundedRows& how) {
    return how.to == RoundedRows::To::bf16 && is_short(how.activation.kind);
  }
  template <int Rows, int Vectors>
  static TENON_INLINE void store_rounded(const Tile& t, long col, float* c, vf (&x)[Rows][Vectors],
                                         int last_lanes) {
    using enum Activation::Kind;
    const RoundedRows how = *t.rounding;  // a store could change what a tile points to
    const bool commutes_with_rounding = how.activation.kind == none || how.activation.kind == relu;
    if (how.adds ? !how.adds_to_sum : !commutes_with_rounding) Rounding::round_all(x);
    if (how.adds) {
      add_residual(t, how, col, x, last_lanes);
      if (how.rounds_sum) Rounding::round_all(x);
    }
    activate_vectors(how.activation, x);
    const RoundedTile to = *t.rounded;
    if (to.halves) {
      std::uint16_t* row[Rows];
      TENON_UNROLL
      for (int i = 0; i < Rows; i++) row[i] = to.halves + col + to.halves_rows[i];
      each_vector<Rows, Vectors>(
          last_lanes, [&](int i, int j, int lanes) __attribute__((always_inline)) {
            store_lanes(row[i] + j * VL, Rounding::narrow(x[i][j]), lanes);
          });
      return;
    }
    if (how.rounds_result || (!how.adds && commutes_with_rounding)) Rounding::round_all(x);
    float* row[Rows];
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) row[i] = c + t.c_row[i];
    each_vector<Rows, Vectors>(
        last_lanes, [&](int i, int j, int lanes)
                        __attribute__((always_inline)) { store_lanes(row[i] + j * VL, x[i][j], lanes); });
  }
  template <int Rows, int Vectors>
  static TENON_INLINE void add_residual(const Tile& t, const RoundedRows& how, long col,
                                        vf (&x)[Rows][Vectors], int last_lanes) {
    const RoundedTile& from = *t.rounded;
    if (!how.residual_is_half)
      return add_rows(x, static_cast<const float*>(from.residual) + col, from.residual_rows, last_lanes);
    const auto* const halves = static_cast<const std::uint16_t*>(from.residual) + col;
    each_vector<Rows, Vectors>(
        last_lanes, [&](int i, int j, int lanes) __attribute__((always_inline)) {
          x[i][j] += BF16::widen(load_lanes(halves + from.residual_rows[i] + j * VL, lanes));
        });
  }
  static TENON_INLINE vf add(vf sum, vf x, vf factor) {
    return reinterpret_cast<vf>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(x),
                                                 reinterpret_cast<__m512bh>(factor)));
  }
};

}  // namespace

bool runs_bf16_dot();
// AMD's give twice the rate of float32 (Zen 5). Intel's give half of it (measured on Emerald Rapids: 96
// against 185 GFLOP/s), so pairs are widened there.
bool runs_bf16_dot() {
  static const bool runs = __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_is("amd") != 0;
  return runs;
}

TileKernel bf16_dot_tile(const TileCall& call);
TileKernel bf16_dot_tile(const TileCall& call) { return pick_tile<DotOfPairs>(call); }

}  // namespace tenon::cpu::TENON_ISA
