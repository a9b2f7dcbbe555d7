// Whether floats are all finite.
#pragma once
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// False where one of the values is a NaN or an infinity.
using AllFinite = bool(const float* values, long count);
TENON_PER_ISA(AllFinite, all_finite, all_finite)

}  // namespace tenon::cpu
