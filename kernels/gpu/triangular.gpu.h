// Triangular systems of equations, and Cholesky's factor.
#pragma once
#include "kernels/gpu/matrix.gpu.h"

namespace tenon::gpu {

/// b becomes the solution of a small triangular system: a thread for each column.
template <class A>
GPU_INLINE void substitute_block(const View<A>& a, const Work& b, bool upper, bool unit) {
  for (int j = thread(); j < b.columns; j += threads())
    for (int step = 0; step < a.rows; ++step) {
      const int i = upper ? a.rows - 1 - step : step;
      const int first = upper ? i + 1 : 0, last = upper ? a.rows : i;
      double sum = b(i, j);
      for (int k = first; k < last; ++k) sum -= wide(a(i, k)) * b(k, j);
      b(i, j) = unit ? sum : sum / wide(a(i, i));
    }
}

/// b becomes the solution, some rows at a time: what they are in the rows to come is a product.
template <class A>
GPU_INLINE void substitute(const View<A>& a, const Work& b, bool upper, bool unit) {
  for (int done = 0; done < a.rows; done += panel) {
    const int size = a.rows - done < panel ? a.rows - done : panel, left = a.rows - done - size;
    const int first = upper ? left : done, rest = upper ? 0 : done + size;
    const Work solved = b.part(first, 0, size, b.columns);
    substitute_block(a.part(first, first, size, size), solved, upper, unit);
    __syncthreads();
    subtract_product(b.part(rest, 0, left, b.columns), a.part(rest, first, left, size), solved);
    __syncthreads();
  }
}

/// Columns of the solution.
template <class A, class B, class X>
GPU_INLINE void solve_triangular(const View<A>& a, const View<B>& b, const View<X>& x, bool upper, bool unit,
                                 const Part& all, Memory memory) {
  const Part part = all.within(b.columns);
  const Work y = memory.matrix(b.rows, part.count);
  load(b.part(0, part.first, b.rows, part.count), y);
  __syncthreads();
  substitute(a, y, upper, unit);
  store(y, x.part(0, part.first, b.rows, part.count));
}

/// Columns [first, last) of the factor.
GPU_INLINE void factor_panel(const Work& a, int first, int last, Fault* fault) {
  for (int k = first; k < last; ++k) {
    const double diagonal = a(k, k), root = sqrt(diagonal);
    if (thread() == 0 && !(diagonal > 0)) report(fault, 0, 0);
    __syncthreads();
    if (thread() == 0) a(k, k) = root;
    for (int i = k + 1 + thread(); i < a.rows; i += threads()) a(i, k) /= root;
    __syncthreads();
    for (int i = k + 1 + thread(); i < a.rows; i += threads())
      for (int j = k + 1; j < last && j <= i; ++j) a(i, j) -= a(i, k) * a(j, k);
    __syncthreads();
  }
}

/// The lower triangular factor of the matrix whose lower triangle is x's.
template <class X, class L>
GPU_INLINE void factor_cholesky(const View<X>& x, const View<L>& l, Memory memory, Fault* fault) {
  const Work a = memory.matrix(x.rows, x.columns);
  load(x, a);
  __syncthreads();
  for (int first = 0; first < a.rows; first += panel) {
    const int last = first + panel < a.rows ? first + panel : a.rows, left = a.rows - last;
    factor_panel(a, first, last, fault);
    const Work below = a.part(last, first, left, last - first);
    multiply(below, below.transposed(), [&](int i, int j, double sum) {
      if (j <= i) a(last + i, last + j) -= sum;
    });
    __syncthreads();
  }
  for_elements(l.rows, l.columns, [&](int i, int j) { l(i, j) = convert<L>(j <= i ? a(i, j) : 0); });
}

}  // namespace tenon::gpu
