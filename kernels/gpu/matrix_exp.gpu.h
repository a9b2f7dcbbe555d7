// The exponential of a matrix: the power series of x / 2^k, squared k times.
#pragma once
#include "kernels/gpu/matrix.gpu.h"

namespace tenon::gpu {

/// The largest sum of a row; sums that are NaN do not count.
GPU_INLINE double norm_of_rows(const Work& x) {
  double norm = 0;
  for (int i = thread(); i < x.rows; i += threads()) {
    double sum = 0;
    for (int j = 0; j < x.columns; ++j) sum += fabs(x(i, j));
    norm = sum > norm ? sum : norm;
  }
  return largest_over_threads(norm);
}

template <class X, class Y>
GPU_INLINE void exponentiate(const View<X>& given, const View<Y>& result, Memory memory) {
  constexpr int terms = 20;
  const int n = given.rows;
  const Work x = memory.matrix(n, n);
  Work y = memory.matrix(n, n), term = memory.matrix(n, n), next = memory.matrix(n, n);
  load(given, x);
  set_identity(y);
  set_identity(term);
  __syncthreads();
  const double norm = norm_of_rows(x);
  const int squarings = norm > 0.5 && isfinite(norm) ? int(ceil(log2(norm))) + 1 : 0;
  for_elements(n, n, [&](int i, int j) { x(i, j) = ldexp(x(i, j), -squarings); });
  __syncthreads();
  for (int k = 1; k <= terms; ++k) {
    multiply(term, x, [&](int i, int j, double sum) {
      next(i, j) = sum / k;
      y(i, j) += sum / k;
    });
    __syncthreads();
    const Work last = term;
    term = next;
    next = last;
  }
  for (int k = 0; k < squarings; ++k) {
    multiply(y, y, [&](int i, int j, double sum) { next(i, j) = sum; });
    __syncthreads();
    const Work last = y;
    y = next;
    next = last;
  }
  store(y, result);
}

}  // namespace tenon::gpu
