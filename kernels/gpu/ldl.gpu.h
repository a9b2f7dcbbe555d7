// Bunch and Kaufman's factorisation of symmetric matrices with LAPACK's choice of pivots, and its systems of
// equations.
#pragma once
#include "kernels/gpu/matrix.gpu.h"

namespace tenon::gpu {

/// The row that comes to the end of the block at k, and whether the block has two rows; -1: the matrix is
/// singular.
struct BlockPivot {
  int row;
  bool is_pair;
};

GPU_INLINE BlockPivot block_pivot_of(const Work& a, int k) {
  const double alpha = (1 + sqrt(17.0)) / 8, diagonal = fabs(a(k, k));
  Largest mine{0, 0};
  for (int i = k + 1 + thread(); i < a.rows; i += threads()) mine.see(fabs(a(i, k)), i);
  const Largest below = largest_over_threads(mine);
  if (!((diagonal < below.size ? below.size : diagonal) > 0)) return {-1, false};
  if (diagonal >= alpha * below.size) return {k, false};
  const int row = below.place;
  mine = {0, 0};
  for (int i = k + thread(); i < a.rows; i += threads())
    if (i != row) mine.see(fabs(i < row ? a(row, i) : a(i, row)), i);
  const double beside = largest_over_threads(mine).size;
  if (diagonal >= alpha * below.size * (below.size / beside)) return {k, false};
  return {row, fabs(a(row, row)) < alpha * beside};
}

GPU_INLINE void exchange(double& x, double& y) {
  const double other = x;
  x = y;
  y = other;
}

/// Exchanges rows and columns i < k of the symmetric matrix whose lower triangle from column i on is a's.
GPU_INLINE void exchange_symmetric(const Work& a, int i, int k) {
  for (int j = i + thread(); j < a.rows; j += threads()) {
    if (j == i) exchange(a(i, i), a(k, k));
    if (j > k) exchange(a(j, i), a(j, k));
    if (j > i && j < k) exchange(a(j, i), a(k, j));
  }
  __syncthreads();
}

/// What the block of rows k (and k + 1) leaves of the rows below it, then its factors.
GPU_INLINE void eliminate_block(const Work& a, int k, bool is_pair, double* first, double* second) {
  const double side = is_pair ? a(k + 1, k) : 1, p = is_pair ? a(k + 1, k + 1) / side : 0, q = a(k, k) / side;
  const double scale = 1 / (p * q - 1) / side;
  const int begin = k + 1 + int(is_pair);
  for (int j = begin + thread(); j < a.rows; j += threads()) {
    first[j] = is_pair ? scale * (p * a(j, k) - a(j, k + 1)) : a(j, k) / a(k, k);
    second[j] = is_pair ? scale * (q * a(j, k + 1) - a(j, k)) : 0;
  }
  __syncthreads();
  for_elements(a.rows - begin, a.rows - begin, [&](int row, int column) {
    const int i = begin + row, j = begin + column;
    if (j <= i) a(i, j) -= a(i, k) * first[j] + (is_pair ? a(i, k + 1) * second[j] : 0);
  });
  __syncthreads();
  for (int j = begin + thread(); j < a.rows; j += threads()) {
    a(j, k) = first[j];
    if (is_pair) a(j, k + 1) = second[j];
  }
  __syncthreads();
}

template <class X, class Y>
GPU_INLINE void factor_ldl(const View<X>& x, const View<Y>& factor, const View<int>& pivots, Memory memory,
                           Fault* fault) {
  const Work a = memory.matrix(x.rows, x.columns);
  double *const first = memory.numbers(x.rows), *const second = memory.numbers(x.rows);
  load(x, a);
  __syncthreads();
  for (int k = 0; k < a.rows; ++k) {
    const BlockPivot pivot = block_pivot_of(a, k);
    if (pivot.row < 0) {
      if (thread() == 0) report(fault, 0, 0);
      return;
    }
    const int end = k + int(pivot.is_pair);
    __syncthreads();
    if (pivot.row != end) exchange_symmetric(a, end, pivot.row);
    if (thread() == 0) {
      if (pivot.is_pair && pivot.row != end) exchange(a(end, k), a(pivot.row, k));
      pivots(0, k) = pivot.is_pair ? -(pivot.row + 1) : pivot.row + 1;
      if (pivot.is_pair) pivots(0, end) = -(pivot.row + 1);
    }
    __syncthreads();
    eliminate_block(a, k, pivot.is_pair, first, second);
    k = end;
  }
  for_elements(x.rows, x.columns, [&](int i, int j) { factor(i, j) = convert<Y>(i >= j ? a(i, j) : 0); });
}

/// One column of the right side.
template <class A, class P>
struct LdlColumn {
  const View<A>& a;
  const View<P>& pivots;
  const Work& b;
  int j;

  GPU_INLINE int size_at(int k) const { return pivots(0, k) < 0 ? 2 : 1; }
  GPU_INLINE Int row_at(int k) const {
    const Int pivot = Int(pivots(0, k));
    return (pivot < 0 ? -pivot : pivot) - 1;
  }
  GPU_INLINE double factor(int i, int k) const { return wide(a(i, k)); }

  GPU_INLINE void divide(int k, int size) const {
    if (size == 1) {
      b(k, j) /= factor(k, k);
      return;
    }
    const double side = factor(k + 1, k), p = factor(k, k) / side, q = factor(k + 1, k + 1) / side;
    const double scale = p * q - 1, first = b(k, j) / side, second = b(k + 1, j) / side;
    b(k, j) = (q * first - second) / scale;
    b(k + 1, j) = (p * second - first) / scale;
  }
  /// False where a pivot names no row.
  GPU_INLINE bool forward(Fault* fault) const {
    for (int k = 0; k < b.rows;) {
      const int size = size_at(k);
      const Int row = row_at(k);
      if (row < 0 || row >= b.rows || k + size > b.rows) {
        report(fault, Int(pivots(0, k)), b.rows);
        return false;
      }
      exchange(b(k + size - 1, j), b(int(row), j));
      for (int i = k + size; i < b.rows; ++i)
        for (int c = k; c < k + size; ++c) b(i, j) -= factor(i, c) * b(c, j);
      divide(k, size);
      k += size;
    }
    return true;
  }
  GPU_INLINE void backward() const {
    for (int end = b.rows - 1; end >= 0;) {
      const int size = size_at(end), k = end + 1 - size;
      for (int c = k; c <= end; ++c)
        for (int i = end + 1; i < b.rows; ++i) b(c, j) -= factor(i, c) * b(i, j);
      exchange(b(end, j), b(int(row_at(k)), j));
      end = k - 1;
    }
  }
};

template <class A, class P, class B, class X>
GPU_INLINE void solve_ldl(const View<A>& a, const View<P>& pivots, const View<B>& given, const View<X>& x,
                          const Part& all, Memory memory, Fault* fault) {
  const Part part = all.within(given.columns);
  const Work b = memory.matrix(given.rows, part.count);
  load(given.part(0, part.first, given.rows, part.count), b);
  __syncthreads();
  for (int j = thread(); j < part.count; j += threads()) {
    const LdlColumn<A, P> column{a, pivots, b, j};
    if (column.forward(fault)) column.backward();
  }
  __syncthreads();
  store(b, x.part(0, part.first, b.rows, part.count));
}

}  // namespace tenon::gpu
