// The exponential of matrices, by Eigen.
#pragma once

namespace tenon::cpu {

/// y becomes the exponential of the row-major x[n, n].
void matrix_exp(const double* x, long n, double* y);

}  // namespace tenon::cpu
