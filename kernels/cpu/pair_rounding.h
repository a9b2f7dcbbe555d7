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

/// Two vectors of 32 elements in a row.
struct TwoVectors {
  vf first, second;
};
static TENON_INLINE TwoVectors widen_two(const std::uint16_t* p) {
#if defined(__AVX512BF16__)
  // Word i in the upper half of lane i.
  constexpr auto places_from = [](int first) {
    struct alignas(64) {
      std::uint16_t of[2 * VL];
    } places{};
    for (int i = 0; i < VL; i++) places.of[2 * i + 1] = static_cast<std::uint16_t>(first + i);
    return places;
  };
  static constexpr auto low = places_from(0), high = places_from(VL);
  constexpr __mmask32 upper = 0xaaaaaaaa;
  const __m512i words = _mm512_loadu_si512(p);
  const auto spread = [&](const auto& to) __attribute__((always_inline)) {
    return reinterpret_cast<vf>(_mm512_maskz_permutexvar_epi16(upper, _mm512_load_si512(&to), words));
  };
  return {spread(low), spread(high)};
#else
  return {BF16::widen(load(p)), BF16::widen(load(p + VL))};
#endif
}
/// As narrow_pairs does.
static TENON_INLINE void store_two(std::uint16_t* p, TwoVectors x) {
#if defined(__AVX512BF16__)
  const auto words =
      _mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(x.second), reinterpret_cast<__m512>(x.first));
  _mm512_storeu_si512(p, reinterpret_cast<__m512i>(words));
#else
  store(p, narrow_pairs(x.first));
  store(p + VL, narrow_pairs(x.second));
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
