// Activation functions on vectors of floats that math.h and math_error.h do not have.
//
// Largest errors, as in math.h: hardsigmoid 1 · hardswish 2 · gelu_tanh 2e-6 absolute for |x| <= 10
#pragma once
#include "kernels/cpu/math.h"

namespace tenon::cpu::TENON_ISA {

static TENON_INLINE vf vhardsigmoid(vf x) { return clamp(x + 3.0f, 0, 6) * (1.0f / 6); }
static TENON_INLINE vf vhardswish(vf x) { return x * clamp(x + 3.0f, 0, 6) * (1.0f / 6); }
static TENON_INLINE vf vgelu_tanh(vf x) {
  const vf half = 0.5f * x;
  return half * vtanh((x * x * x * 0.044715f + x) * 0.797884561f) + half;
}

}  // namespace tenon::cpu::TENON_ISA
