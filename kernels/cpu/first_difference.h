// Where two rows begin to differ.
#pragma once
#include "base/dtype.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// The first place where elements of two dense rows differ, or n. NaN differs from NaN, -0 does not from 0.
/// Of all real dtypes but those of float8.
using FirstDifference = long(const void* a, const void* b, DType dtype, long n);
TENON_PER_ISA(FirstDifference, first_difference, first_difference)

}  // namespace tenon::cpu
