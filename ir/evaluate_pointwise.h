// A scalar expression on whole tensors, for the reference interpreter and constant folding.
#pragma once
#include <span>

#include "ir/expr.h"
#include "ir/tensor.h"

namespace tenon {

/// The expression at each element of the broadcast operands; `shape` is the broadcast shape. Arithmetic is in
/// the compute type of each dtype; only casts and the result are rounded to their dtype.
Tensor evaluate_pointwise(const Expr&, std::span<const Tensor> operands, const Index& shape);

}  // namespace tenon
