// The textbook algorithms in f64 (Golub and Van Loan, Matrix Computations).
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "ir/ops/linalg.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

/// A row-major matrix in someone else's memory.
struct Matrix {
  double* data;
  std::int64_t rows, columns;
  double& operator()(std::int64_t i, std::int64_t j) const { return data[i * columns + j]; }
};

std::int64_t from_end(const Tensor& t, std::size_t axis) { return t.shape()[t.rank() - axis]; }
std::int64_t matrices(const Tensor& t) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 2 < t.rank(); ++i) count *= t.shape()[i];
  return count;
}
Matrix matrix(Tensor& t, std::int64_t k) {
  const std::int64_t rows = from_end(t, 2), columns = from_end(t, 1);
  return {t.mutable_data<double>() + k * rows * columns, rows, columns};
}

void swap_rows(const Matrix& m, std::int64_t i, std::int64_t k) {
  if (i == k) return;
  for (std::int64_t j = 0; j < m.columns; ++j) std::swap(m(i, j), m(k, j));
}

/// Gaussian elimination with partial pivoting: U in the upper triangle, b changed along with it. Returns the
/// sign of the row exchanges.
double eliminate(const Matrix& a, const Matrix* b) {
  double sign = 1;
  for (std::int64_t k = 0; k < a.rows; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < a.rows; ++i)
      if (std::fabs(a(i, k)) > std::fabs(a(pivot, k))) pivot = i;
    if (pivot != k) sign = -sign;
    swap_rows(a, k, pivot);
    if (b) swap_rows(*b, k, pivot);
    if (a(k, k) == 0) continue;
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      const double factor = a(i, k) / a(k, k);
      for (std::int64_t j = k; j < a.columns; ++j) a(i, j) -= factor * a(k, j);
      if (!b) continue;
      for (std::int64_t j = 0; j < b->columns; ++j) (*b)(i, j) -= factor * (*b)(k, j);
    }
  }
  return sign;
}

/// b becomes the solution of the triangular system.
void substitute(const Matrix& a, const Matrix& b, bool upper, bool unit) {
  for (std::int64_t step = 0; step < a.rows; ++step) {
    const std::int64_t i = upper ? a.rows - 1 - step : step;
    const std::int64_t first = upper ? i + 1 : 0, last = upper ? a.rows : i;
    for (std::int64_t j = 0; j < b.columns; ++j) {
      double sum = b(i, j);
      for (std::int64_t k = first; k < last; ++k) sum -= a(i, k) * b(k, j);
      b(i, j) = unit ? sum : sum / a(i, i);
    }
  }
}

/// x becomes R below zeros; q, an identity, becomes Q.
void householder(const Matrix& x, const Matrix& q) {
  std::vector<double> v(static_cast<std::size_t>(x.rows));
  const auto reflect = [&](const Matrix& m, std::int64_t k, double scale) {
    for (std::int64_t j = 0; j < m.columns; ++j) {
      double dot = 0;
      for (std::int64_t i = k; i < x.rows; ++i) dot += v[static_cast<std::size_t>(i)] * m(i, j);
      for (std::int64_t i = k; i < x.rows; ++i) m(i, j) -= scale * dot * v[static_cast<std::size_t>(i)];
    }
  };
  for (std::int64_t k = 0; k < std::min(x.rows - 1, x.columns); ++k) {
    double below = 0;
    for (std::int64_t i = k + 1; i < x.rows; ++i) below += x(i, k) * x(i, k);
    if (below == 0) continue;
    const double beta = -std::copysign(std::sqrt(x(k, k) * x(k, k) + below), x(k, k));
    double squares = below;
    for (std::int64_t i = k; i < x.rows; ++i) v[static_cast<std::size_t>(i)] = x(i, k);
    v[static_cast<std::size_t>(k)] -= beta;
    squares += v[static_cast<std::size_t>(k)] * v[static_cast<std::size_t>(k)];
    reflect(x, k, 2 / squares);
    reflect(q, k, 2 / squares);  // q holds Q^T
  }
}

}  // namespace

void Cholesky::reference(InSpan in, OutSpan out) const {
  Tensor l = widened(in[0]).clone();
  for (std::int64_t k = 0; k < matrices(l); ++k) {
    const Matrix m = matrix(l, k);
    for (std::int64_t j = 0; j < m.rows; ++j) {
      for (std::int64_t i = j; i < m.rows; ++i) {
        for (std::int64_t p = 0; p < j; ++p) m(i, j) -= m(i, p) * m(j, p);
        if (i == j && !(m(j, j) > 0)) throw error("cholesky: the matrix is not positive definite");
        m(i, j) = i == j ? std::sqrt(m(j, j)) : m(i, j) / m(j, j);
      }
      for (std::int64_t i = 0; i < j; ++i) m(i, j) = 0;
    }
  }
  out[0].copy_from(l);
}

void Solve::reference(InSpan in, OutSpan out) const {
  Tensor a = widened(in[0]).clone(), b = widened(in[1]).clone();
  for (std::int64_t k = 0; k < matrices(a); ++k) {
    const Matrix left = matrix(a, k), right = matrix(b, k);
    eliminate(left, &right);
    for (std::int64_t i = 0; i < left.rows; ++i)
      if (left(i, i) == 0) throw error("solve: the matrix is singular");
    substitute(left, right, true, false);
  }
  out[0].copy_from(b);
}

void TriangularSolve::reference(InSpan in, OutSpan out) const {
  Tensor a = widened(in[0]).clone(), b = widened(in[1]).clone();
  for (std::int64_t k = 0; k < matrices(a); ++k) substitute(matrix(a, k), matrix(b, k), upper, unit);
  out[0].copy_from(b);
}

void Determinant::reference(InSpan in, OutSpan out) const {
  Tensor a = widened(in[0]).clone();
  Tensor value = Tensor::empty(DType::f64, out[0].shape());
  Tensor sign = Tensor::empty(DType::f64, value.shape()), size = Tensor::empty(DType::f64, value.shape());
  for (std::int64_t k = 0; k < value.numel(); ++k) {
    const Matrix m = matrix(a, k);
    double det = eliminate(m, nullptr), negative = det, log_size = 0;
    for (std::int64_t i = 0; i < m.rows; ++i) {
      det *= m(i, i);
      negative *= m(i, i) == 0 ? 0 : std::copysign(1, m(i, i));
      log_size += std::log(std::fabs(m(i, i)));
    }
    value.mutable_data<double>()[k] = det;
    sign.mutable_data<double>()[k] = negative;
    size.mutable_data<double>()[k] = log_size;
  }
  out[0].copy_from(value);
  out[1].copy_from(sign);
  out[2].copy_from(size);
}

void Qr::reference(InSpan in, OutSpan out) const {
  Tensor x = widened(in[0]).clone();
  Index square = x.shape();
  square.back() = from_end(x, 2);
  Tensor q = Tensor::zeros(DType::f64, square);
  for (std::int64_t k = 0; k < matrices(x); ++k) {
    const Matrix factor = matrix(q, k), r = matrix(x, k);
    for (std::int64_t i = 0; i < factor.rows; ++i) factor(i, i) = 1;
    householder(r, factor);
    for (std::int64_t i = 0; i < r.rows; ++i)
      for (std::int64_t j = 0; j < std::min(i, r.columns); ++j) r(i, j) = 0;
  }
  Axes swapped(x.rank());
  for (std::size_t i = 0; i < swapped.size(); ++i) swapped[i] = static_cast<std::int64_t>(i);
  std::swap(swapped[x.rank() - 1], swapped[x.rank() - 2]);
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  out[0].copy_from(q.permute(swapped).slice(last, 0, from_end(out[0], 1)));
  out[1].copy_from(x.slice(last - 1, 0, from_end(out[1], 2)));
}

}  // namespace tenon
