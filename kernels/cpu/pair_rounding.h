// Sums of bfloat16 pairs that are rounded while they are in registers. Per-ISA code; where that is avx512,
// for files built with its instructions for bfloat16 alone.
#pragma once
#include "kernels/cpu/activation.h"
#include "kernels/cpu/rounded_rows.h"
#include "kernels/cpu/simd_half.h"

namespace tenon::cpu::TENON_ISA {

/// To nearest even; subnormal numbers become zeros, as in the products.
static TENON_INLINE vh narrow_pairs(vf x) {
#if defined(__AVX512BF16__)
  return reinterpret_cast<vh>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(x)));
#else
  const vu magnitude = reinterpret_cast<vu>(x) & 0x7fffffffu;
  return BF16::narrow(magnitude < 0x00800000u ? reinterpret_cast<vf>(reinterpret_cast<vu>(x) & 0x80000000u)
                                              : x);
#endif
}
template <int Rows, int Vectors>
static TENON_INLINE void round_pairs(vf (&x)[Rows][Vectors]) {
  TENON_UNROLL
  for (int i = 0; i < Rows; i++) {
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) x[i][j] = BF16::widen(narrow_pairs(x[i][j]));
  }
}

static TENON_INLINE bool rounds_in_registers(const RoundedRows& how) {
  return how.to == RoundedRows::To::bf16 && is_short(how.activation.kind);
}

/// f(row, vector, lanes) for all vectors of sums, of which the last one of each row has `last_lanes`.
template <int Rows, int Vectors, class F>
static TENON_INLINE void each_of_pairs(int last_lanes, F f) {
  TENON_UNROLL
  for (int i = 0; i < Rows; i++) {
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) f(i, j, j == Vectors - 1 ? last_lanes : VL);
  }
}

/// What `how` says of sums, but for a last rounding of the result. Row i of the residual begins
/// residual_rows[i] elements behind `residual`.
template <int Rows, int Vectors>
static TENON_INLINE void finish_pairs(const RoundedRows& how, const void* residual, const long* residual_rows,
                                      vf (&x)[Rows][Vectors], int last_lanes) {
  using enum Activation::Kind;
  const bool commutes_with_rounding = how.activation.kind == none || how.activation.kind == relu;
  if (how.adds ? !how.adds_to_sum : !commutes_with_rounding) round_pairs(x);
  if (how.adds) {
    if (how.residual_is_half) {
      const auto* const from = static_cast<const std::uint16_t*>(residual);
      each_of_pairs<Rows, Vectors>(
          last_lanes, [&](int i, int j, int lanes) __attribute__((always_inline)) {
            x[i][j] += BF16::widen(load_lanes(from + residual_rows[i] + j * VL, lanes));
          });
    } else {
      const auto* const from = static_cast<const float*>(residual);
      each_of_pairs<Rows, Vectors>(
          last_lanes, [&](int i, int j, int lanes) __attribute__((always_inline)) {
            x[i][j] += load_lanes(from + residual_rows[i] + j * VL, lanes);
          });
    }
    if (how.rounds_sum) round_pairs(x);
  }
  activate_vectors(how.activation, x);
}

}  // namespace tenon::cpu::TENON_ISA
