// Singular values, eigenvalues and functions of matrices: Jacobi's rotations and a scaled power series, in
// f64.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/orientation.h"
#include "ir/ops/linalg.h"
#include "ir/ops/matrix.h"
#include "ir/ops/matrix_exp_halves.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

constexpr int max_sweeps = 60;
constexpr double precision = 1e-15;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A matrix with memory of its own.
struct Owned {
  std::vector<double> numbers;
  Matrix m;
  Owned(std::int64_t rows, std::int64_t columns)
      : numbers(at(rows * columns)), m{numbers.data(), rows, columns} {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
};

void set_identity(const Matrix& m) {
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t j = 0; j < m.columns; ++j) m(i, j) = i == j;
}

bool is_finite(const Matrix& m) {
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t j = 0; j < m.columns; ++j)
      if (!std::isfinite(m(i, j))) return false;
  return true;
}

/// The rotation that makes [[a, c], [c, b]] diagonal.
struct Rotation {
  double cosine, sine;
  Rotation(double a, double b, double c) {
    const double slope = (b - a) / (2 * c);
    const double tangent = std::copysign(1, slope) / (std::fabs(slope) + std::hypot(1, slope));
    cosine = 1 / std::hypot(1, tangent);
    sine = cosine * tangent;
  }
  void turn(double& x, double& y) const {
    const double old = x;
    x = cosine * old - sine * y;
    y = sine * old + cosine * y;
  }
};

/// Calls turn(p, q) for all pairs p < q of n rows, in rounds of pairs that are apart from each other, as in a
/// tournament: kernels turn the pairs of a round at once.
template <class Turn>
void for_pairs(std::int64_t n, Turn turn) {
  const std::int64_t pairs = (n + 1) / 2, rounds = 2 * pairs - 1;
  for (std::int64_t round = 0; round < rounds; ++round)
    for (std::int64_t k = 0; k < pairs; ++k) {
      const std::int64_t a = k == 0 ? rounds : (round + k) % rounds, b = (round - k + rounds) % rounds;
      if (std::max(a, b) < n) turn(std::min(a, b), std::max(a, b));
    }
}

/// Rows of x made orthogonal to each other, by rotations that are applied to v's rows too.
void orthogonalise_rows(const Matrix& x, const Matrix& v) {
  const auto dot = [&](std::int64_t p, std::int64_t q) {
    double sum = 0;
    for (std::int64_t j = 0; j < x.columns; ++j) sum += x(p, j) * x(q, j);
    return sum;
  };
  bool moved = true;
  for (int sweep = 0; moved && sweep < max_sweeps; ++sweep) {
    moved = false;
    for_pairs(x.rows, [&](std::int64_t p, std::int64_t q) {
      const double a = dot(p, p), b = dot(q, q), c = dot(p, q);
      if (std::fabs(c) <= precision * std::sqrt(a * b) || c == 0) return;
      moved = true;
      const Rotation rotation(a, b, c);
      for (std::int64_t j = 0; j < x.columns; ++j) rotation.turn(x(p, j), x(q, j));
      for (std::int64_t j = 0; j < v.columns; ++j) rotation.turn(v(p, j), v(q, j));
    });
  }
}

/// Row k of q as a unit vector orthogonal to the rows above it: what they leave of the unit vector of which
/// they leave the most, of several that rounding tells apart the first.
void complete_row(const Matrix& q, std::int64_t k) {
  constexpr double level = 1e-6;
  std::vector<double> left(at(q.columns), 1);
  for (std::int64_t j = 0; j < q.columns; ++j)
    for (std::int64_t i = 0; i < k; ++i) left[at(j)] -= q(i, j) * q(i, j);
  const double most = *std::max_element(left.begin(), left.end());
  const auto first = std::find_if(left.begin(), left.end(), [&](double l) { return l >= most - level; });
  const std::int64_t best = first - left.begin();
  for (std::int64_t j = 0; j < q.columns; ++j) q(k, j) = j == best;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::int64_t i = 0; i < k; ++i) {
      double dot = 0;
      for (std::int64_t j = 0; j < q.columns; ++j) dot += q(i, j) * q(k, j);
      for (std::int64_t j = 0; j < q.columns; ++j) q(k, j) -= dot * q(i, j);
    }
    double squares = 0;
    for (std::int64_t j = 0; j < q.columns; ++j) squares += q(k, j) * q(k, j);
    for (std::int64_t j = 0; j < q.columns; ++j) q(k, j) /= std::sqrt(squares);
  }
}

/// x[k, n], k <= n, as P^T diag(s) R: p[k, k] and r[rows, n], rows >= k, with orthonormal rows.
void decompose_wide(const Matrix& x, const Matrix& p, double* s, const Matrix& r) {
  Owned turned(x.rows, x.rows);
  set_identity(turned.m);
  orthogonalise_rows(x, turned.m);
  std::vector<double> lengths(at(x.rows));
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.columns; ++j) lengths[at(i)] = std::hypot(lengths[at(i)], x(i, j));
  }
  std::vector<std::int64_t> order(at(x.rows));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return lengths[at(a)] > lengths[at(b)]; });
  const double largest = order.empty() ? 0 : lengths[at(order[0])];
  for (std::int64_t i = 0; i < r.rows; ++i) {
    const std::int64_t from = i < x.rows ? order[at(i)] : -1;
    double sign = 1;
    if (from >= 0) {
      s[i] = lengths[at(from)];
      sign = orientation(x.rows, [&](std::int64_t j) { return turned.m(from, j); });
      for (std::int64_t j = 0; j < x.rows; ++j) p(i, j) = sign * turned.m(from, j);
    }
    if (from >= 0 && s[i] > largest * 1e-16) {
      for (std::int64_t j = 0; j < x.columns; ++j) r(i, j) = sign * x(from, j) / s[i];
    } else {
      complete_row(r, i);
    }
  }
}

void copy_transposed(const Matrix& from, const Matrix& to) {
  for (std::int64_t i = 0; i < to.rows; ++i)
    for (std::int64_t j = 0; j < to.columns; ++j) to(i, j) = from(j, i);
}

/// x's off-diagonal becomes 0 and its diagonal the eigenvalues; v's rows, an identity's, the eigenvectors.
void diagonalise(const Matrix& x, const Matrix& v) {
  const std::int64_t n = x.rows;
  bool moved = true;
  for (int sweep = 0; moved && sweep < max_sweeps; ++sweep) {
    moved = false;
    double size = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) size = std::max(size, std::fabs(x(i, j)));
    for_pairs(n, [&](std::int64_t p, std::int64_t q) {
      if (std::fabs(x(p, q)) <= precision * 1e-3 * size) return;
      moved = true;
      const Rotation rotation(x(p, p), x(q, q), x(p, q));
      for (std::int64_t j = 0; j < n; ++j) rotation.turn(x(p, j), x(q, j));
      for (std::int64_t i = 0; i < n; ++i) rotation.turn(x(i, p), x(i, q));
      x(p, q) = x(q, p) = 0;
      for (std::int64_t j = 0; j < n; ++j) rotation.turn(v(p, j), v(q, j));
    });
  }
}

void multiply(const Matrix& a, const Matrix& b, const Matrix& c) {
  for (std::int64_t i = 0; i < c.rows; ++i) std::fill_n(&c(i, 0), c.columns, 0.0);
  multiply_add(a.data, a.stride, b.data, b.stride, c.data, c.stride, a.rows, b.columns, a.columns);
}

/// y becomes exp(x): the power series of x / 2^k, squared k times.
void exponentiate(const Matrix& x, const Matrix& y) {
  const std::int64_t n = x.rows;
  double norm = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += std::fabs(x(i, j));
    norm = std::max(norm, sum);
  }
  const int squarings =
      norm > 0.5 && std::isfinite(norm) ? static_cast<int>(std::ceil(std::log2(norm))) + 1 : 0;
  Owned term(n, n), product(n, n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) x(i, j) = std::ldexp(x(i, j), -squarings);
  set_identity(term.m);
  set_identity(y);
  for (int k = 1; k <= 20; ++k) {
    multiply(term.m, x, product.m);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) y(i, j) += term.m(i, j) = product.m(i, j) / k;
  }
  for (int k = 0; k < squarings; ++k) {
    multiply(y, y, product.m);
    for (std::int64_t i = 0; i < n; ++i) std::copy_n(&product.m(i, 0), n, &y(i, 0));
  }
}

}  // namespace

void Svd::reference(InSpan in, OutSpan out) const {
  Tensor x = widened_copy(in[0]);
  Tensor u = Tensor::empty(DType::f64, out[0].shape()), s = Tensor::empty(DType::f64, out[1].shape());
  Tensor v = Tensor::empty(DType::f64, out[2].shape());
  for (std::int64_t k = 0; k < matrices(x); ++k) {
    const Matrix m = matrix(x, k), left = matrix(u, k), right = matrix(v, k);
    if (!is_finite(m)) throw error("the matrix holds an infinity or NaN");
    const bool wide = m.rows <= m.columns;
    double* values = s.mutable_data<double>() + k * std::min(m.rows, m.columns);
    Owned given(std::min(m.rows, m.columns), std::max(m.rows, m.columns));
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t j = 0; j < m.columns; ++j) (wide ? given.m(i, j) : given.m(j, i)) = m(i, j);
    Owned p(given.m.rows, given.m.rows), r(wide ? right.rows : left.columns, given.m.columns);
    decompose_wide(given.m, p.m, values, r.m);
    copy_transposed(wide ? p.m : r.m, left);
    const Matrix& rows = wide ? r.m : p.m;
    for (std::int64_t i = 0; i < right.rows; ++i)
      for (std::int64_t j = 0; j < right.columns; ++j) right(i, j) = rows(i, j);
  }
  out[0].copy_from(u);
  out[1].copy_from(s);
  out[2].copy_from(v);
}

void Eigh::reference(InSpan in, OutSpan out) const {
  Tensor x = widened_copy(in[0]);
  Tensor values = Tensor::empty(DType::f64, out[0].shape());
  Tensor vectors = Tensor::empty(DType::f64, out[1].shape());
  for (std::int64_t k = 0; k < matrices(x); ++k) {
    const Matrix m = matrix(x, k), columns = matrix(vectors, k);
    const std::int64_t n = m.rows;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j) m(i, j) = m(j, i);
    if (!is_finite(m)) throw error("the matrix holds an infinity or NaN");
    Owned rows(n, n);
    set_identity(rows.m);
    diagonalise(m, rows.m);
    std::vector<std::int64_t> order(at(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return m(a, a) < m(b, b); });
    for (std::int64_t i = 0; i < n; ++i) {
      values.mutable_data<double>()[k * n + i] = m(order[at(i)], order[at(i)]);
      const auto vector = [&](std::int64_t j) { return rows.m(order[at(i)], j); };
      const double sign = orientation(n, vector);
      for (std::int64_t j = 0; j < n; ++j) columns(j, i) = sign * vector(j);
    }
  }
  out[0].copy_from(values);
  out[1].copy_from(vectors);
}

void MatrixExp::reference(InSpan in, OutSpan out) const {
  if (size_of(in[0].dtype()) == 2) return matrix_exp_of_halves(in[0], out[0]);
  Tensor x = widened_copy(in[0]);
  Tensor y = Tensor::empty(DType::f64, out[0].shape());
  for (std::int64_t k = 0; k < matrices(x); ++k) exponentiate(matrix(x, k), matrix(y, k));
  out[0].copy_from(y);
}

}  // namespace tenon
