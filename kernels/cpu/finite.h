// Whether floats are all finite.
#pragma once
#include <cstdint>

#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// False where one of the values is a NaN or an infinity.
using AllFinite = bool(const float* values, long count);
TENON_PER_ISA(AllFinite, all_finite, all_finite)
/// The same of bfloat16.
using AllFiniteHalves = bool(const std::uint16_t* values, long count);
TENON_PER_ISA(AllFiniteHalves, all_finite_halves, all_finite_halves)

}  // namespace tenon::cpu
