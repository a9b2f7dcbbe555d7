// Gaussian elimination with partial pivoting, in panels: columns of a panel one by one, then what is right of
// them by a product.
#pragma once
#include "kernels/gpu/triangular.gpu.h"

namespace tenon::gpu {

/// The row of the largest number of column k, from the diagonal on. A diagonal that is NaN stays.
GPU_INLINE int pivot_of(const Work& a, int k) {
  Largest mine{-1, 0};
  for (int i = k + thread(); i < a.rows; i += threads()) {
    const double size = fabs(a(i, k));
    mine.see(i == k && !(size == size) ? double(TENON_INFINITY) : size, i);
  }
  return largest_over_threads(mine).place;
}

/// Columns [first, last) of all rows from `first` on; exchanges of rows reach all columns. Calls pivoted(k,
/// row) in every thread. What is left of the panel's rows is written when it returns, what is below them by
/// the next barrier.
template <class Pivoted>
GPU_INLINE void eliminate_panel(const Work& a, int first, int last, Pivoted pivoted) {
  for (int k = first; k < last; ++k) {
    const int pivot = pivot_of(a, k);
    pivoted(k, pivot);
    for (int j = thread(); pivot != k && j < a.columns; j += threads()) {
      const double other = a(pivot, j);
      a(pivot, j) = a(k, j);
      a(k, j) = other;
    }
    __syncthreads();
    const double diagonal = a(k, k);
    if (diagonal == 0) continue;
    for (int i = k + 1 + thread(); i < a.rows; i += threads()) {
      const double factor = a(i, k) / diagonal;
      a(i, k) = factor;
      for (int j = k + 1; j < last; ++j) a(i, j) -= factor * a(k, j);
    }  // the next step looks for its pivot in the same rows
  }
}

template <class Pivoted>
GPU_INLINE void eliminate(const Work& a, Pivoted pivoted) {
  const int count = a.rows < a.columns ? a.rows : a.columns;
  for (int first = 0; first < count; first += panel) {
    const int last = first + panel < count ? first + panel : count, size = last - first;
    eliminate_panel(a, first, last, pivoted);
    const Work beside = a.part(first, last, size, a.columns - last);
    substitute_block(a.part(first, first, size, size), beside, false, true);
    __syncthreads();
    subtract_product(a.part(last, last, a.rows - last, a.columns - last),
                     a.part(last, first, a.rows - last, size), beside);
    __syncthreads();
  }
}

/// The factors in one matrix, and the exchanged rows, counted from 1.
template <class X, class Y>
GPU_INLINE void factor_lu(const View<X>& x, const View<Y>& packed, const View<int>& pivots, Memory memory) {
  const Work a = memory.matrix(x.rows, x.columns);
  load(x, a);
  __syncthreads();
  eliminate(a, [&](int k, int row) {
    if (thread() == 0) pivots(0, k) = row + 1;
  });
  store(a, packed);
}
template <class X>
GPU_INLINE void factor_regular(const View<X>& x, const View<double>& packed, const View<int>& pivots,
                               Memory memory, Fault* fault) {
  factor_lu(x, packed, pivots, memory);
  __syncthreads();
  for (int i = thread(); i < packed.rows; i += threads())
    if (packed(i, i) == 0) report(fault, 0, 0);
}

/// Columns of the solution, from the factors.
template <class B, class X>
GPU_INLINE void solve_factored(const View<const double>& packed, const View<const int>& pivots,
                               const View<B>& b, const View<X>& x, const Part& all, Memory memory) {
  const Part part = all.within(b.columns);
  const Work y = memory.matrix(b.rows, part.count);
  load(b.part(0, part.first, b.rows, part.count), y);
  __syncthreads();
  for (int j = thread(); j < part.count; j += threads())
    for (int k = 0; k < b.rows; ++k) {
      const int row = pivots(0, k) - 1;
      const double other = y(row, j);
      y(row, j) = y(k, j);
      y(k, j) = other;
    }
  __syncthreads();
  substitute(packed, y, false, true);
  substitute(packed, y, true, false);
  store(y, x.part(0, part.first, b.rows, part.count));
}

/// The determinant, its sign, and the logarithm of its size.
template <class X, class Y>
GPU_INLINE void find_determinant(const View<X>& x, const View<Y>& value, const View<Y>& sign,
                                 const View<Y>& log_size, Memory memory) {
  const Work a = memory.matrix(x.rows, x.columns);
  load(x, a);
  __syncthreads();
  double determinant = 1;
  eliminate(a, [&](int k, int row) { determinant = k == row ? determinant : -determinant; });
  if (thread() != 0) return;
  double turns = determinant, logarithm = 0;
  for (int i = 0; i < a.rows; ++i) {
    const double diagonal = a(i, i);
    determinant *= diagonal;
    turns *= diagonal == 0 ? 0 : copysign(1.0, diagonal);
    logarithm += log(fabs(diagonal));
  }
  value(0, 0) = convert<Y>(determinant);
  sign(0, 0) = convert<Y>(turns);
  log_size(0, 0) = convert<Y>(logarithm);
}

/// Which row stands in each place after the exchanges.
template <class P>
GPU_INLINE void list_pivot_rows(const View<P>& pivots, const View<Int>& rows, Fault* fault) {
  for (int i = thread(); i < rows.columns; i += threads()) rows(0, i) = i;
  __syncthreads();
  if (thread() != 0) return;
  for (int i = 0; i < pivots.columns; ++i) {
    const Int other = Int(pivots(0, i)) - 1;
    if (i >= rows.columns || other < 0 || other >= rows.columns)
      return report(fault, other + 1, rows.columns);
    const Int there = rows(0, int(other));
    rows(0, int(other)) = rows(0, i);
    rows(0, i) = there;
  }
}

}  // namespace tenon::gpu
