// Matrices in shared or global memory, and what the threads of a block do with them together. Numbers are
// computed in double precision, as in the reference. Blocks have one dimension, of whole waves.
#pragma once
#include "kernels/gpu/wave.gpu.h"

namespace tenon::gpu {

/// A matrix in someone else's memory.
template <class T>
struct View {
  T* data;
  int rows, columns;
  Int row_stride, column_stride;

  GPU_INLINE T& operator()(int i, int j) const { return data[i * row_stride + j * column_stride]; }
  /// The rows and columns from (i, j) on.
  GPU_INLINE View part(int i, int j, int some_rows, int some_columns) const {
    return {data + i * row_stride + j * column_stride, some_rows, some_columns, row_stride, column_stride};
  }
  GPU_INLINE View transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};
using Work = View<double>;

/// How the matrices of a tensor lie, which is seen as [matrices, rows, columns]; strides in elements.
struct Layout {
  Int rows, columns, batch_stride, row_stride, column_stride;
};
template <class T>
GPU_INLINE View<T> matrix_of(T* data, const Layout& at, Int number) {
  return {data + number * at.batch_stride, int(at.rows), int(at.columns), at.row_stride, at.column_stride};
}

/// What blocks do in turn: `items`, of which each is one of `parts` of a matrix, of so many columns; `words`
/// numbers of memory for a block.
struct Blocks {
  Int items, parts, columns, words;
};
/// Columns of a matrix.
struct Part {
  int first, count;
  GPU_INLINE Part within(int columns) const {
    return {first, columns - first < count ? columns - first : count};
  }
};
GPU_INLINE Part part_of(const Blocks& blocks, Int item) {
  return {int(item % blocks.parts * blocks.columns), int(blocks.columns)};
}

/// A block's memory for numbers. Rows have odd strides, so that neighbouring rows lie in different banks.
struct Memory {
  double* next;

  GPU_INLINE double* numbers(int count) {
    double* const first = next;
    next += count;
    return first;
  }
  GPU_INLINE Work matrix(int rows, int columns) {
    const int stride = columns | 1;
    return {numbers(rows * stride), rows, columns, stride, 1};
  }
};

GPU_INLINE int thread() { return int(threadIdx.x); }
GPU_INLINE int threads() { return int(blockDim.x); }
template <class T>
GPU_INLINE double wide(T x) {
  return static_cast<double>(number(x));
}

/// Threads as lines of neighbours: `lane` of `lanes` in line `line` of `lines`.
struct Team {
  int lane, lanes, line, lines;
};
/// Lines of at most 32 lanes, which take `columns` neighbours.
GPU_INLINE Team team_for(int columns) {
  int lanes = 32;
  while (lanes > 1 && lanes / 2 >= columns) lanes /= 2;
  return {thread() % lanes, lanes, thread() / lanes, threads() / lanes};
}

/// Calls each(i, j) for all elements.
template <class Each>
GPU_INLINE void for_elements(int rows, int columns, Each each) {
  const Team team = team_for(columns);
  for (int i = team.line; i < rows; i += team.lines)
    for (int j = team.lane; j < columns; j += team.lanes) each(i, j);
}

/// Reads along the axis whose elements lie side by side.
template <class T>
GPU_INLINE void load(const View<T>& from, const Work& to) {
  if (from.column_stride > from.row_stride)
    for_elements(from.columns, from.rows, [&](int j, int i) { to(i, j) = wide(from(i, j)); });
  else
    for_elements(from.rows, from.columns, [&](int i, int j) { to(i, j) = wide(from(i, j)); });
}
template <class T>
GPU_INLINE void store(const Work& from, const View<T>& to) {
  for_elements(to.rows, to.columns, [&](int i, int j) { to(i, j) = convert<T>(from(i, j)); });
}

/// Folds what all threads have; each gets the result. All of them take part.
template <class Acc, class Combine>
GPU_INLINE Acc over_threads(Acc acc, Combine combine) {
  GPU_SHARED(Acc, part, [32]);
#pragma unroll
  for (int mask = wave_size / 2; mask > 0; mask /= 2) acc = combine(acc, shuffle_xor(acc, mask));
  if (lane_of_thread() == 0) part[wave_of_thread()] = acc;
  __syncthreads();
  acc = part[0];
  for (int wave = 1; wave < threads() / wave_size; ++wave) acc = combine(acc, part[wave]);
  __syncthreads();
  return acc;
}
GPU_INLINE double sum_over_threads(double x) {
  return over_threads(x, [](double a, double b) { return a + b; });
}
GPU_INLINE bool any_thread(bool x) {
  return over_threads(int(x), [](int a, int b) { return a | b; }) != 0;
}
/// The largest number of all threads; NaN is none.
GPU_INLINE double largest_over_threads(double x) {
  return over_threads(x, [](double a, double b) { return b > a ? b : a; });
}

/// The largest of several numbers, of equal ones the first; NaN is none.
struct Largest {
  double size;
  int place;
  GPU_INLINE void see(double x, int at) {
    if (x > size) *this = {x, at};
  }
};
GPU_INLINE Largest largest_over_threads(Largest mine) {
  return over_threads(mine, [](Largest a, Largest b) {
    return b.size > a.size || (b.size == a.size && b.place < a.place) ? b : a;
  });
}

/// Is every element a number? All threads of the block learn it.
GPU_INLINE bool is_finite(const Work& m) {
  bool wrong = false;
  for_elements(m.rows, m.columns, [&](int i, int j) { wrong = wrong || !isfinite(m(i, j)); });
  return !any_thread(wrong);
}

GPU_INLINE void set_identity(const Work& m) {
  for_elements(m.rows, m.columns, [&](int i, int j) { m(i, j) = i == j ? 1 : 0; });
}

/// Calls put(i, j, sum) for each element of a times b. A thread computes four rows at once, so that it reads
/// b a quarter as often; neighbours compute neighbouring columns.
template <class A, class B, class Put>
GPU_INLINE void multiply(const View<A>& a, const View<B>& b, Put put) {
  constexpr int tall = 4;
  const Team team = team_for(b.columns);
  for (int row = team.line * tall; row < a.rows; row += team.lines * tall)
    for (int j = team.lane; j < b.columns; j += team.lanes) {
      double sum[tall] = {};
      for (int k = 0; k < a.columns; ++k) {
        const double x = wide(b(k, j));
#pragma unroll
        for (int r = 0; r < tall; ++r) sum[r] += wide(a(row + r < a.rows ? row + r : row, k)) * x;
      }
#pragma unroll
      for (int r = 0; r < tall; ++r)
        if (row + r < a.rows) put(row + r, j, sum[r]);
    }
}
/// c -= a b.
template <class A, class B>
GPU_INLINE void subtract_product(const Work& c, const View<A>& a, const View<B>& b) {
  multiply(a, b, [&](int i, int j, double sum) { c(i, j) -= sum; });
}

/// Columns that an algorithm takes at once; what is left behind them is a product.
constexpr int panel = 16;

}  // namespace tenon::gpu
