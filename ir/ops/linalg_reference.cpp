// The textbook algorithms in f64 (Golub and Van Loan, Matrix Computations).
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/ops/linalg.h"
#include "ir/ops/matrix.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

/// Gaussian elimination with partial pivoting: U in the upper triangle, L's factors below it, b changed along
/// with it. `pivots` becomes the row that each column's was exchanged with.
void eliminate(const Matrix& a, const Matrix* b, std::vector<std::int64_t>& pivots) {
  pivots.clear();
  for (std::int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < a.rows; ++i)
      if (std::fabs(a(i, k)) > std::fabs(a(pivot, k))) pivot = i;
    pivots.push_back(pivot);
    swap_rows(a, k, pivot);
    if (b) swap_rows(*b, k, pivot);
    if (a(k, k) == 0) continue;
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      const double factor = a(i, k) / a(k, k);
      a(i, k) = factor;
      for (std::int64_t j = k + 1; j < a.columns; ++j) a(i, j) -= factor * a(k, j);
      if (!b) continue;
      for (std::int64_t j = 0; j < b->columns; ++j) (*b)(i, j) -= factor * (*b)(k, j);
    }
  }
}

/// Of the row exchanges.
double sign_of(const std::vector<std::int64_t>& pivots) {
  double sign = 1;
  for (std::size_t k = 0; k < pivots.size(); ++k)
    if (pivots[k] != static_cast<std::int64_t>(k)) sign = -sign;
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

/// m becomes H m for the reflection H of column k.
void reflect(const Matrix& vectors, std::int64_t k, double factor, const Matrix& m) {
  const auto v = [&](std::int64_t i) { return i == k ? 1 : vectors(i, k); };
  for (std::int64_t j = 0; j < m.columns; ++j) {
    double dot = 0;
    for (std::int64_t i = k; i < m.rows; ++i) dot += v(i) * m(i, j);
    for (std::int64_t i = k; i < m.rows; ++i) m(i, j) -= factor * dot * v(i);
  }
}

/// x becomes R and, below it, the vectors; returns their factors.
std::vector<double> householder(const Matrix& x) {
  std::vector<double> factors(static_cast<std::size_t>(std::min(x.rows, x.columns)));
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(factors.size()); ++k) {
    double below = 0;
    for (std::int64_t i = k + 1; i < x.rows; ++i) below += x(i, k) * x(i, k);
    if (below == 0) continue;
    const double beta = -std::copysign(std::sqrt(x(k, k) * x(k, k) + below), x(k, k));
    const double factor = factors[static_cast<std::size_t>(k)] = (beta - x(k, k)) / beta;
    for (std::int64_t i = k + 1; i < x.rows; ++i) x(i, k) /= x(k, k) - beta;
    x(k, k) = beta;
    const Matrix rest{x.data + k + 1, x.rows, x.columns - k - 1, x.stride};
    reflect(x, k, factor, rest);
  }
  return factors;
}

/// q, the identity's first columns, becomes those of the product of the reflections.
void multiply_reflections(const Matrix& vectors, std::span<const double> factors, const Matrix& q) {
  for (std::int64_t i = 0; i < std::min(q.rows, q.columns); ++i) q(i, i) = 1;
  for (std::size_t k = factors.size(); k-- > 0;)
    reflect(vectors, static_cast<std::int64_t>(k), factors[k], q);
}

}  // namespace

void Cholesky::reference(InSpan in, OutSpan out) const {
  Tensor l = widened_copy(in[0]);
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
  Tensor a = widened_copy(in[0]), b = widened_copy(in[1]);
  std::vector<std::int64_t> pivots;
  for (std::int64_t k = 0; k < matrices(a); ++k) {
    const Matrix left = matrix(a, k), right = matrix(b, k);
    eliminate(left, &right, pivots);
    for (std::int64_t i = 0; i < left.rows; ++i)
      if (left(i, i) == 0) throw error("solve: the matrix is singular");
    substitute(left, right, true, false);
  }
  out[0].copy_from(b);
}

void TriangularSolve::reference(InSpan in, OutSpan out) const {
  Tensor a = widened_copy(in[0]), b = widened_copy(in[1]);
  for (std::int64_t k = 0; k < matrices(a); ++k) substitute(matrix(a, k), matrix(b, k), upper, unit);
  out[0].copy_from(b);
}

void Determinant::reference(InSpan in, OutSpan out) const {
  Tensor a = widened_copy(in[0]);
  Tensor value = Tensor::empty(DType::f64, out[0].shape());
  Tensor sign = Tensor::empty(DType::f64, value.shape()), size = Tensor::empty(DType::f64, value.shape());
  std::vector<std::int64_t> pivots;
  for (std::int64_t k = 0; k < value.numel(); ++k) {
    const Matrix m = matrix(a, k);
    eliminate(m, nullptr, pivots);
    double det = sign_of(pivots), negative = det, log_size = 0;
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
  Tensor x = widened_copy(in[0]);
  Tensor q = Tensor::zeros(DType::f64, out[0].shape());
  for (std::int64_t k = 0; k < matrices(x); ++k) {
    const Matrix r = matrix(x, k);
    multiply_reflections(r, householder(r), matrix(q, k));
    for (std::int64_t i = 0; i < r.rows; ++i)
      for (std::int64_t j = 0; j < std::min(i, r.columns); ++j) r(i, j) = 0;
  }
  out[0].copy_from(q);
  out[1].copy_from(x.slice(static_cast<std::int64_t>(x.rank()) - 2, 0, from_end(out[1], 2)));
}

void Lu::reference(InSpan in, OutSpan out) const {
  Tensor x = widened_copy(in[0]);
  Tensor pivots = Tensor::empty(DType::i64, out[1].shape());
  auto* next = pivots.mutable_data<std::int64_t>();
  std::vector<std::int64_t> of_this;
  for (std::int64_t k = 0; k < matrices(x); ++k) {
    eliminate(matrix(x, k), nullptr, of_this);
    for (const std::int64_t pivot : of_this) *next++ = pivot + 1;
  }
  out[0].copy_from(x);
  out[1].copy_from(pivots);
}

void PivotRows::reference(InSpan in, OutSpan out) const {
  const Tensor pivots = widened(in[0]);
  const std::int64_t count = pivots.shape().back(), size = out[0].shape().back();
  Tensor places = Tensor::empty(DType::i64, out[0].shape());
  for (std::int64_t list = 0; size > 0 && list < places.numel() / size; ++list) {
    auto* place = places.mutable_data<std::int64_t>() + list * size;
    std::iota(place, place + size, 0);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t other = pivots.data<std::int64_t>()[list * count + i] - 1;
      if (i >= size || other < 0 || other >= size) throw error("pivot {} of {} rows", other + 1, size);
      std::swap(place[i], place[other]);
    }
  }
  out[0].copy_from(places);
}

void Reflections::reference(InSpan in, OutSpan out) const {
  Tensor x = widened_copy(in[0]);
  Tensor factors = Tensor::empty(DType::f64, out[1].shape());
  auto* next = factors.mutable_data<double>();
  for (std::int64_t k = 0; k < matrices(x); ++k)
    for (const double factor : householder(matrix(x, k))) *next++ = factor;
  out[0].copy_from(x);
  out[1].copy_from(factors);
}

void ReflectionProduct::reference(InSpan in, OutSpan out) const {
  Tensor x = widened_copy(in[0]);
  const Tensor factors = widened(in[1]);
  const std::int64_t count = factors.shape().back();
  if (count > from_end(x, 1)) throw error("{} factors for {} vectors", count, from_end(x, 1));
  Tensor q = Tensor::zeros(DType::f64, out[0].shape());
  for (std::int64_t k = 0; k < matrices(x); ++k)
    multiply_reflections(matrix(x, k), {factors.data<double>() + k * count, static_cast<std::size_t>(count)},
                         matrix(q, k));
  out[0].copy_from(q);
}

}  // namespace tenon
