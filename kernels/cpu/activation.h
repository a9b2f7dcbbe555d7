// The activations on vectors: what the loops of loop_ops_simd.cpp compute, too. Per-ISA code.
#pragma once
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/math_activation.h"
#include "kernels/cpu/math_gelu.h"

namespace tenon::cpu::TENON_ISA {

template <Activation::Kind kind>
static TENON_INLINE vf activate(const Activation& a, vf x) {
  using enum Activation::Kind;
  if constexpr (kind == relu) return max_or_b(vf{}, x);
  if constexpr (kind == clamp) return cpu::TENON_ISA::clamp(x, a.low, a.high);
  if constexpr (kind == leaky_relu) return x > 0.0f ? x : x * a.low;
  if constexpr (kind == hardsigmoid) return vhardsigmoid(x);
  if constexpr (kind == hardswish) return vhardswish(x);
  if constexpr (kind == sigmoid) return vsigmoid(x);
  if constexpr (kind == silu) return vsilu(x);
  if constexpr (kind == tanh) return vtanh(x);
  if constexpr (kind == gelu) return vgelu(x);
  if constexpr (kind == gelu_tanh) return vgelu_tanh(x);
  return x;
}

/// Calls f.template operator()<kind>() with the kind as a constant.
template <class F>
static TENON_INLINE void with_kind(Activation::Kind kind, F&& f) {
  using enum Activation::Kind;
  switch (kind) {
    case none: return f.template operator()<none>();
    case relu: return f.template operator()<relu>();
    case clamp: return f.template operator()<clamp>();
    case leaky_relu: return f.template operator()<leaky_relu>();
    case hardsigmoid: return f.template operator()<hardsigmoid>();
    case hardswish: return f.template operator()<hardswish>();
    case sigmoid: return f.template operator()<sigmoid>();
    case silu: return f.template operator()<silu>();
    case tanh: return f.template operator()<tanh>();
    case gelu: return f.template operator()<gelu>();
    case gelu_tanh: return f.template operator()<gelu_tanh>();
  }
}

/// Short activations are worth a copy in every kernel that holds sums in registers. The others are applied to
/// rows that were just written.
static TENON_INLINE bool is_short(Activation::Kind kind) { return kind <= Activation::Kind::hardswish; }

/// Applies a short activation to an array of vectors, and does nothing for a long one.
template <int Rows, int Vectors>
static TENON_INLINE void activate_vectors(const Activation& a, vf (&v)[Rows][Vectors]) {
  const auto each = [&](auto function) __attribute__((always_inline)) {
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      TENON_UNROLL
      for (int j = 0; j < Vectors; j++) v[i][j] = function(v[i][j]);
    }
  };
  if (a.kind == Activation::Kind::relu) {
    each([](vf x) __attribute__((always_inline)) { return max_or_b(vf{}, x); });
  } else if (a.kind == Activation::Kind::clamp) {
    each([&](vf x) __attribute__((always_inline)) { return clamp(x, a.low, a.high); });
  } else if (a.kind == Activation::Kind::hardswish) {
    each([](vf x) __attribute__((always_inline)) { return vhardswish(x); });
  }
}

/// Rows of a result that were just written: a long activation, and what is added behind it.
struct RowsLeft {
  float* c;
  const long* c_row;   // offsets of the rows
  const float* added;  // null: nothing
  const long* added_row;
  long rows;
  long cols;
};
/// activation(row) + added, without the activation where it is short.
void finish_rows(const Activation& activation, const RowsLeft& left);
/// Does finish_rows do anything?
static TENON_INLINE bool leaves_rows(const Activation& activation, const float* added) {
  return added || !is_short(activation.kind);
}

}  // namespace tenon::cpu::TENON_ISA
