#include "kernels/cpu/matrix_exp.h"

#include <cmath>
#include <unsupported/Eigen/MatrixFunctions>

namespace tenon::cpu {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The power series of x / 2^k, squared k times.
Matrix by_series(const Matrix& x, double norm) {
  const int squarings = std::ilogb(norm) + 2;
  const Matrix part = x.unaryExpr([&](double number) { return std::ldexp(number, -squarings); });
  Matrix term = Matrix::Identity(x.rows(), x.cols()), y = term;
  for (int k = 1; k <= 20; ++k) {
    term = (term * part / k).eval();
    y += term;
  }
  for (int k = 0; k < squarings; ++k) y = (y * y).eval();
  return y;
}

}  // namespace

void matrix_exp(const double* x, long n, double* y) {
  const Eigen::Map<const Matrix> given(x, n, n);
  const double norm = given.cwiseAbs().rowwise().sum().maxCoeff();
  // Eigen divides two polynomials. The rounding of that grows with each squaring, also where the series has
  // an exact 1.
  constexpr double few_squarings = 16;
  Eigen::Map<Matrix>(y, n, n) =
      norm > few_squarings && std::isfinite(norm) ? by_series(given, norm) : Matrix(given.exp());
}

}  // namespace tenon::cpu
