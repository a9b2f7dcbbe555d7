// Composites compute 16-bit floats in f32, as PyTorch's kernels do inside.
#pragma once
#include "ir/ops/functions.h"

namespace tenon {

inline DType working_dtype(DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : t; }
inline Ref working(const Ref& x) { return is_float(x.dtype()) ? cast(working_dtype(x.dtype()), x) : x; }

}  // namespace tenon
