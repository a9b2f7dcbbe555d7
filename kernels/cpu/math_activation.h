// Activation functions on vectors of floats that math.h and math_gelu.h do not have.
//
// Largest errors, as in math.h: hardsigmoid 1 · hardswish 2
#pragma once
#include "kernels/cpu/math.h"

namespace tenon::cpu::TENON_ISA {

static TENON_INLINE vf vhardsigmoid(vf x) { return clamp(x + 3.0f, 0, 6) * (1.0f / 6); }
static TENON_INLINE vf vhardswish(vf x) { return x * clamp(x + 3.0f, 0, 6) * (1.0f / 6); }

}  // namespace tenon::cpu::TENON_ISA
