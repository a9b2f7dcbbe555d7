// Composites compute floats of 16 and 8 bits in f32, as PyTorch's kernels do inside.
#pragma once
#include "ir/ops/functions.h"

namespace tenon {

inline DType working_dtype(DType t) { return is_small_float(t) ? DType::f32 : t; }
inline Ref working(const Ref& x) { return is_float(x.dtype()) ? cast(working_dtype(x.dtype()), x) : x; }

}  // namespace tenon
