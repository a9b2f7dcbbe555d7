// The exponential of matrices of 16-bit floats as PyTorch's CPU computes it.
#pragma once
#include "ir/tensor.h"

namespace tenon {

/// PyTorch 2.13 and before read their table of f64 coefficients as numbers of the matrix's type: but for a
/// matrix of zeros, what comes out is no exponential. This gives the same.
void matrix_exp_of_halves(const Tensor& x, Tensor& y);

}  // namespace tenon
