#include "kernels/cpu/matrix_exp.h"

#include <unsupported/Eigen/MatrixFunctions>

namespace tenon::cpu {

void matrix_exp(const double* x, long n, double* y) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Matrix>(y, n, n) = Eigen::Map<const Matrix>(x, n, n).exp();
}

}  // namespace tenon::cpu
