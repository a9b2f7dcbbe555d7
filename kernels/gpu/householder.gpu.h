// Householder's reflections, with LAPACK's signs.
#pragma once
#include "kernels/gpu/matrix.gpu.h"

namespace tenon::gpu {

/// m becomes H m for the reflection H whose vector stands in column k of `vectors`, below its 1 in row k. 32
/// threads take neighbouring columns, the others their rows in turn.
template <class V>
GPU_INLINE void reflect(const View<V>& vectors, int k, double factor, const Work& m) {
  GPU_SHARED(double, part, [8][32]);
  const int lane = thread() % 32, line = thread() / 32, lines = threads() / 32;
  const auto v = [&](int i) { return i == k ? 1 : wide(vectors(i, k)); };
  for (int first = 0; first < m.columns; first += 32) {
    const int j = first + lane;
    double dot = 0;
    for (int i = k + line; j < m.columns && i < m.rows; i += lines) dot += v(i) * m(i, j);
    part[line][lane] = dot;
    __syncthreads();
    dot = 0;
    for (int other = 0; other < lines; ++other) dot += part[other][lane];
    for (int i = k + line; j < m.columns && i < m.rows; i += lines) m(i, j) -= factor * dot * v(i);
    __syncthreads();
  }
}

/// a becomes R and, below it, the vectors; their factors.
GPU_INLINE void reduce_by_reflections(const Work& a, double* factors) {
  const int count = a.rows < a.columns ? a.rows : a.columns;
  for (int k = 0; k < count; ++k) {
    const double diagonal = a(k, k);
    double squares = 0;
    for (int i = k + 1 + thread(); i < a.rows; i += threads()) squares += a(i, k) * a(i, k);
    squares = sum_over_threads(squares);
    if (squares == 0) {
      if (thread() == 0) factors[k] = 0;
      continue;
    }
    const double beta = -copysign(sqrt(diagonal * diagonal + squares), diagonal);
    const double factor = (beta - diagonal) / beta;
    for (int i = k + 1 + thread(); i < a.rows; i += threads()) a(i, k) /= diagonal - beta;
    if (thread() == 0) {
      a(k, k) = beta;
      factors[k] = factor;
    }
    __syncthreads();
    reflect(a, k, factor, a.part(0, k + 1, a.rows, a.columns - k - 1));
  }
  __syncthreads();
}

template <class X, class Y>
GPU_INLINE void find_reflections(const View<X>& x, const View<Y>& packed, const View<Y>& factors,
                                 Memory memory) {
  const Work a = memory.matrix(x.rows, x.columns);
  double* const list = memory.numbers(factors.columns);
  load(x, a);
  __syncthreads();
  reduce_by_reflections(a, list);
  store(a, packed);
  for (int k = thread(); k < factors.columns; k += threads()) factors(0, k) = convert<Y>(list[k]);
}
/// The same, with R alone.
template <class X, class R>
GPU_INLINE void factor_qr(const View<X>& x, const View<R>& r, const View<double>& packed,
                          const View<double>& factors, Memory memory) {
  find_reflections(x, packed, factors, memory);
  __syncthreads();
  for_elements(r.rows, r.columns, [&](int i, int j) { r(i, j) = convert<R>(i <= j ? packed(i, j) : 0); });
}

/// Columns of the product of the reflections.
template <class V, class Q>
GPU_INLINE void multiply_reflections(const View<V>& vectors, const View<V>& factors, const View<Q>& q,
                                     const Part& all, Memory memory) {
  const Part part = all.within(q.columns);
  const Work m = memory.matrix(q.rows, part.count);
  for_elements(m.rows, m.columns, [&](int i, int j) { m(i, j) = i == part.first + j ? 1 : 0; });
  __syncthreads();
  for (int k = factors.columns - 1; k >= 0; --k) reflect(vectors, k, wide(factors(0, k)), m);
  store(m, q.part(0, part.first, q.rows, part.count));
}

}  // namespace tenon::gpu
