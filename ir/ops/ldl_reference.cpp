// Bunch and Kaufman's factorisation of symmetric matrices in f64, with LAPACK's choice of pivots (sytf2 and
// sytrs of the lower triangle).
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "ir/ops/linalg.h"
#include "ir/ops/matrix.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

struct Largest {
  std::int64_t place = 0;
  double size = 0;
  void see(std::int64_t at, double number) {
    if (std::fabs(number) > size) *this = {at, std::fabs(number)};
  }
};

/// The row that comes to the end of the block at k, and whether the block is 2 x 2.
struct Pivot {
  std::int64_t row;
  bool is_pair;
};

Pivot pivot_of(const Matrix& a, std::int64_t k) {
  const double alpha = (1 + std::sqrt(17.0)) / 8, diagonal = std::fabs(a(k, k));
  Largest below;
  for (std::int64_t i = k + 1; i < a.rows; ++i) below.see(i, a(i, k));
  if (!(std::max(diagonal, below.size) > 0)) throw error("ldl_factor: the matrix is singular");
  if (diagonal >= alpha * below.size) return {k, false};
  const std::int64_t row = below.place;
  Largest beside;
  for (std::int64_t j = k; j < row; ++j) beside.see(j, a(row, j));
  for (std::int64_t i = row + 1; i < a.rows; ++i) beside.see(i, a(i, row));
  if (diagonal >= alpha * below.size * (below.size / beside.size)) return {k, false};
  return {row, std::fabs(a(row, row)) < alpha * beside.size};
}

/// Exchanges rows and columns i < k of the symmetric matrix whose lower triangle from column i on is a's.
void exchange(const Matrix& a, std::int64_t i, std::int64_t k) {
  if (i == k) return;
  for (std::int64_t j = k + 1; j < a.rows; ++j) std::swap(a(j, i), a(j, k));
  for (std::int64_t j = i + 1; j < k; ++j) std::swap(a(j, i), a(k, j));
  std::swap(a(i, i), a(k, k));
}

void eliminate_one(const Matrix& a, std::int64_t k) {
  for (std::int64_t j = k + 1; j < a.rows; ++j) {
    const double factor = a(j, k) / a(k, k);
    for (std::int64_t i = j; i < a.rows; ++i) a(i, j) -= a(i, k) * factor;
    a(j, k) = factor;
  }
}

void eliminate_two(const Matrix& a, std::int64_t k) {
  const double side = a(k + 1, k), p = a(k + 1, k + 1) / side, q = a(k, k) / side;
  const double scale = 1 / (p * q - 1) / side;
  for (std::int64_t j = k + 2; j < a.rows; ++j) {
    const double first = scale * (p * a(j, k) - a(j, k + 1)), second = scale * (q * a(j, k + 1) - a(j, k));
    for (std::int64_t i = j; i < a.rows; ++i) a(i, j) -= a(i, k) * first + a(i, k + 1) * second;
    a(j, k) = first;
    a(j, k + 1) = second;
  }
}

void factorise(const Matrix& a, std::int64_t* pivots) {
  for (std::int64_t k = 0; k < a.rows; ++k) {
    const Pivot pivot = pivot_of(a, k);
    const std::int64_t end = k + pivot.is_pair;
    exchange(a, end, pivot.row);
    if (pivot.is_pair) {
      if (pivot.row != end) std::swap(a(end, k), a(pivot.row, k));
      eliminate_two(a, k);
      pivots[k] = pivots[end] = -(pivot.row + 1);
      k = end;
    } else {
      eliminate_one(a, k);
      pivots[k] = pivot.row + 1;
    }
  }
}

/// The rows of b below those of the block of `size` at k, less what the block's solution gives there.
void forward(const Matrix& a, const Matrix& b, std::int64_t k, std::int64_t size) {
  for (std::int64_t i = k + size; i < a.rows; ++i)
    for (std::int64_t c = k; c < k + size; ++c)
      for (std::int64_t j = 0; j < b.columns; ++j) b(i, j) -= a(i, c) * b(c, j);
}

void backward(const Matrix& a, const Matrix& b, std::int64_t k, std::int64_t size) {
  for (std::int64_t c = k; c < k + size; ++c)
    for (std::int64_t i = k + size; i < a.rows; ++i)
      for (std::int64_t j = 0; j < b.columns; ++j) b(c, j) -= a(i, c) * b(i, j);
}

void divide_by_block(const Matrix& a, const Matrix& b, std::int64_t k, std::int64_t size) {
  for (std::int64_t j = 0; j < b.columns; ++j) {
    if (size == 1) {
      b(k, j) /= a(k, k);
      continue;
    }
    const double side = a(k + 1, k), p = a(k, k) / side, q = a(k + 1, k + 1) / side, scale = p * q - 1;
    const double first = b(k, j) / side, second = b(k + 1, j) / side;
    b(k, j) = (q * first - second) / scale;
    b(k + 1, j) = (p * second - first) / scale;
  }
}

/// b becomes the solution.
void solve(const Matrix& a, const std::int64_t* pivots, const Matrix& b) {
  std::vector<std::int64_t> blocks;
  for (std::int64_t k = 0; k < a.rows;) {
    const std::int64_t size = pivots[k] < 0 ? 2 : 1, row = std::abs(pivots[k]) - 1;
    if (row < 0 || row >= a.rows || k + size > a.rows) throw error("pivot {} of {} rows", pivots[k], a.rows);
    swap_rows(b, k + size - 1, row);
    forward(a, b, k, size);
    divide_by_block(a, b, k, size);
    blocks.push_back(k);
    k += size;
  }
  for (std::size_t i = blocks.size(); i-- > 0;) {
    const std::int64_t k = blocks[i], size = pivots[k] < 0 ? 2 : 1;
    backward(a, b, k, size);
    swap_rows(b, k + size - 1, std::abs(pivots[k]) - 1);
  }
}

}  // namespace

void LdlFactor::reference(InSpan in, OutSpan out) const {
  Tensor x = widened_copy(in[0]);
  Tensor pivots = Tensor::empty(DType::i64, out[1].shape());
  for (std::int64_t k = 0; k < matrices(x); ++k) {
    const Matrix m = matrix(x, k);
    factorise(m, pivots.mutable_data<std::int64_t>() + k * m.rows);
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t j = i + 1; j < m.columns; ++j) m(i, j) = 0;
  }
  out[0].copy_from(x);
  out[1].copy_from(pivots);
}

void LdlSolve::reference(InSpan in, OutSpan out) const {
  Tensor a = widened_copy(in[0]), b = widened_copy(in[2]);
  const Tensor pivots = widened(in[1]);
  for (std::int64_t k = 0; k < matrices(a); ++k) {
    const Matrix m = matrix(a, k);
    solve(m, pivots.data<std::int64_t>() + k * m.rows, matrix(b, k));
  }
  out[0].copy_from(b);
}

}  // namespace tenon
