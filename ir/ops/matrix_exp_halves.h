// The exponential of matrices of 16-bit floats as PyTorch's CPU computes it.
#pragma once
#include "ir/tensor.h"

namespace tenon {

/// What comes out is no exponential, as base/matrix_exp_halves.h says.
void matrix_exp_of_halves(const Tensor& x, Tensor& y);

}  // namespace tenon
