// What blocked factorisations are made of: blocks of matrices, products of them, triangular systems, columns
// that lie one behind the other. Internal to the kernels of factor.h, spectra.h and matrix_exp.h.
#pragma once
#include "kernels/cpu/factor.h"
#include "kernels/cpu/simd_lanes.h"
#include "kernels/cpu/transpose.h"
#include "kernels/cpu/typed_product_panel.h"

/// Defines name_f32 and name_f64 from the template `name`.
#define TENON_ON_MATRIX(name)                                           \
  long name##_f32(const MatrixTask<float>& task) { return name(task); } \
  long name##_f64(const MatrixTask<double>& task) { return name(task); }

namespace tenon::cpu::TENON_ISA {
namespace {

/// Some rows and columns of a matrix. Strides count elements.
template <class T>
struct Block {
  T* data;
  long rows, columns, row, column = 1;
  TENON_INLINE T& operator()(long i, long j) const { return data[i * row + j * column]; }
  TENON_INLINE Block part(long i, long j, long height, long width) const {
    return {data + i * row + j * column, height, width, row, column};
  }
  /// From row i and column j on.
  TENON_INLINE Block from(long i, long j) const { return part(i, j, rows - i, columns - j); }
  TENON_INLINE Block turned() const { return {data, columns, rows, column, row}; }
  /// Upside down, and left to right: an upper triangle becomes a lower one.
  TENON_INLINE Block with_rows_reversed() const {
    return {data + (rows - 1) * row, rows, columns, -row, column};
  }
};

template <class T>
TENON_INLINE Block<T> dense(T* data, long rows, long columns) {
  return {data, rows, columns, columns, 1};
}

/// Hands out parts of a task's room.
template <class T>
struct Room {
  T* next;
  TENON_INLINE T* take(long count) {
    constexpr long line = 64 / sizeof(T);
    T* const taken = next;
    next += (count + line - 1) / line * line;
    return taken;
  }
};

TENON_INLINE void multiply_columns(const TypedColumns<float>& call) { product_columns_f32(call); }
TENON_INLINE void multiply_columns(const TypedColumns<double>& call) { product_columns_f64(call); }

/// c -= a b. The rows or the columns of c are contiguous. `work`: typed_work_size elements.
template <class T>
void subtract_product(Block<T> c, Block<T> a, Block<T> b, T* work) {
  if (c.column != 1) {
    const Block<T> turned_b = b.turned();
    c = c.turned();
    b = a.turned();
    a = turned_b;
  }
  if (c.rows == 0 || c.columns == 0 || a.columns == 0) return;
  TypedProduct<T> p;
  p.M = c.rows, p.N = c.columns, p.K = a.columns;
  p.a = a.data, p.a_row = a.row, p.a_column = a.column;
  p.b = b.data, p.b_row = b.row, p.b_column = b.column;
  p.c = c.data, p.c_row = c.row;
  for (long n = 0; n < p.N; n += typed_columns)
    multiply_columns({&p, n, n + typed_columns < p.N ? n + typed_columns : p.N, work, true});
}

/// The lower triangle of c, in a few more elements, less that of a b.
template <class T>
void subtract_lower(const Block<T>& c, const Block<T>& a, const Block<T>& b, T* work) {
  constexpr long whole = 96;
  if (c.rows <= whole) return subtract_product(c, a, b, work);
  const long half = c.rows / 2, rest = c.rows - half;
  const Block<T> above = a.part(0, 0, half, a.columns), below = a.from(half, 0);
  const Block<T> left = b.part(0, 0, b.rows, half), right = b.from(0, half);
  subtract_lower(c.part(0, 0, half, half), above, left, work);
  subtract_product(c.part(half, 0, rest, half), below, left, work);
  subtract_lower(c.from(half, half), below, right, work);
}

inline constexpr long few = 32;  // rows of a block that plain loops compute

/// Solves the lower triangular system for some columns of x, `Vectors` vectors of them.
template <class T, int Vectors>
__attribute__((noinline)) void substitute_strip(const Block<T>& a, const Block<T>& x, bool unit) {
  using L = Lanes<T>;
  constexpr long wide = Vectors * L::count;
  alignas(64) T strip[few][wide];
  const bool whole = x.column == 1 && x.columns == wide;
  if (whole) {
    for (long i = 0; i < x.rows; i++) {
      TENON_UNROLL
      for (int v = 0; v < Vectors; v++) L::store(strip[i] + v * L::count, L::load(&x(i, 0) + v * L::count));
    }
  } else {
    for (long i = 0; i < x.rows; i++) {
      for (long j = 0; j < x.columns; j++) strip[i][j] = x(i, j);
      for (long j = x.columns; j < wide; j++) strip[i][j] = 0;
    }
  }
  for (long i = 0; i < x.rows; i++) {
    typename L::V sum[Vectors];
    TENON_UNROLL
    for (int v = 0; v < Vectors; v++) sum[v] = L::load(strip[i] + v * L::count);
    for (long k = 0; k < i; k++) {
      const T factor = a(i, k);
      TENON_UNROLL
      for (int v = 0; v < Vectors; v++) sum[v] -= factor * L::load(strip[k] + v * L::count);
    }
    TENON_UNROLL
    for (int v = 0; v < Vectors; v++) L::store(strip[i] + v * L::count, unit ? sum[v] : sum[v] / a(i, i));
  }
  if (whole) {
    for (long i = 0; i < x.rows; i++) {
      TENON_UNROLL
      for (int v = 0; v < Vectors; v++) L::store(&x(i, 0) + v * L::count, L::load(strip[i] + v * L::count));
    }
  } else {
    for (long i = 0; i < x.rows; i++)
      for (long j = 0; j < x.columns; j++) x(i, j) = strip[i][j];
  }
}

/// x becomes the solution of a lower triangular system.
template <class T>
void substitute(const Block<T>& a, const Block<T>& x, bool unit, T* work) {
  if (a.rows > few) {
    const long half = a.rows / 2;
    const Block<T> top = x.part(0, 0, half, x.columns), below = x.from(half, 0);
    substitute(a.part(0, 0, half, half), top, unit, work);
    subtract_product(below, a.part(half, 0, a.rows - half, half), top, work);
    substitute(a.from(half, half), below, unit, work);
    return;
  }
  constexpr long wide = Lanes<T>::count;
  for (long j = 0; j < x.columns;) {
    const long left = x.columns - j;
    const long width = left >= 4 * wide ? 4 * wide : left > wide ? 2 * wide : wide;
    const Block<T> strip = x.part(0, j, x.rows, width < left ? width : left);
    if (width == 4 * wide)
      substitute_strip<T, 4>(a, strip, unit);
    else if (width == 2 * wide)
      substitute_strip<T, 2>(a, strip, unit);
    else
      substitute_strip<T, 1>(a, strip, unit);
    j += width;
  }
}

template <class T>
TENON_INLINE void copy(const T* from, long count, T* to) {
  __builtin_memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

template <class T>
TENON_INLINE void swap_rows(const Block<T>& m, long i, long k) {
  if (i == k) return;
  for (long j = 0; j < m.columns; j++) {
    const T kept = m(i, j);
    m(i, j) = m(k, j);
    m(k, j) = kept;
  }
}

/// A matrix whose columns lie one behind the other, each followed by a vector of zeros: loops over a column
/// take whole vectors.
template <class T>
struct Columns {
  T* data;
  long rows, count, stride;
  TENON_INLINE T* operator[](long j) const { return data + j * stride; }
  static long size(long rows, long count) { return (rows + Lanes<T>::count) * count; }
};

/// to[j][i] = from[i][j].
template <class T>
void turn(long rows, long columns, const T* from, long from_stride, T* to, long to_stride) {
  constexpr long tile = 8, block = 64;
  if (rows < tile || columns < tile) {
    for (long i = 0; i < rows; i++)
      for (long j = 0; j < columns; j++) to[j * to_stride + i] = from[i * from_stride + j];
    return;
  }
  for (long i = 0; i < rows; i += block)
    transpose_on_this_thread(rows - i < block ? rows - i : block, columns, from + i * from_stride,
                             from_stride, to + i, to_stride);
}

/// Room for columns of as many rows: nothing but zeros behind them.
template <class T>
Columns<T> columns_in(T* room, long rows, long count) {
  const Columns<T> columns{room, rows, count, rows + Lanes<T>::count};
  for (long j = 0; j < count; j++) Lanes<T>::store(columns[j] + rows, typename Lanes<T>::V{});
  return columns;
}

template <class T>
Columns<T> pack(const Block<T>& from, T* room) {
  const Columns<T> to = columns_in(room, from.rows, from.columns);
  if (from.column == 1) {
    turn<T>(from.rows, from.columns, from.data, from.row, to.data, to.stride);
  } else {
    for (long j = 0; j < from.columns; j++)
      for (long i = 0; i < from.rows; i++) to[j][i] = from(i, j);
  }
  return to;
}

template <class T>
void unpack(const Columns<T>& from, const Block<T>& to) {
  if (to.column == 1) return turn<T>(from.count, from.rows, from.data, from.stride, to.data, to.row);
  for (long j = 0; j < to.columns; j++)
    for (long i = 0; i < to.rows; i++) to(i, j) = from[j][i];
}

/// The size of the largest of the elements [first, end) of a column; NaN is none.
template <class T>
TENON_INLINE T largest_size(const T* x, long first, long end) {
  using L = Lanes<T>;
  typename L::V most{};
  long i = first;
  for (; i + L::count <= end; i += L::count) {
    const typename L::V v = L::load(x + i), size = v < 0 ? -v : v;
    most = size > most ? size : most;
  }
  T best = 0;
  for (int lane = 0; lane < L::count; lane++) best = most[lane] > best ? most[lane] : best;
  for (; i < end; i++) {
    const T size = x[i] < 0 ? -x[i] : x[i];
    best = size > best ? size : best;
  }
  return best;
}

/// The first element of this size, which there is.
template <class T>
TENON_INLINE long place_of_size(const T* x, long first, T size) {
  while (x[first] != size && x[first] != -size) first++;
  return first;
}

template <class T>
bool is_finite(const T* x, long count) {
  using L = Lanes<T>;
  typename L::V zeros{};
  long i = 0;
  for (; i + L::count <= count; i += L::count) zeros += L::load(x + i) * 0;
  T zero = 0;
  for (int lane = 0; lane < L::count; lane++) zero += zeros[lane];
  for (; i < count; i++) zero += x[i] * 0;
  return zero == 0;
}

/// y -= factor * x, elements [first, end) of columns.
template <class T>
TENON_INLINE void subtract(T* y, const T* x, T factor, long first, long end) {
  using L = Lanes<T>;
  for (long i = first; i < end; i += L::count) L::store(y + i, L::load(y + i) - factor * L::load(x + i));
}

/// The solution of a triangular system for `N` columns from the first on, row by row.
template <int N, class T>
void substitute_by_dots(const Block<T>& a, const Columns<T>& x, long first, bool upper, bool unit) {
  using L = Lanes<T>;
  for (long step = 0; step < a.rows; step++) {
    const long i = upper ? a.rows - 1 - step : step, end = upper ? a.rows : i;
    const T* const row = &a(i, 0);
    typename L::V sums[N] = {};
    for (long k = upper ? i + 1 : 0; k < end; k += L::count) {
      const long width = end - k < L::count ? end - k : L::count;
      const typename L::V factors = L::load_first(row + k, width);
      TENON_UNROLL
      for (int c = 0; c < N; c++) sums[c] += factors * L::load_first(x[first + c] + k, width);
    }
    TENON_UNROLL
    for (int c = 0; c < N; c++) {
      const T left = x[first + c][i] - L::sum(sums[c]);
      x[first + c][i] = unit ? left : left / row[i];
    }
  }
}

/// x becomes the solution of a triangular system, in which the rows of a are contiguous.
template <class T>
void solve_triangular(const Block<T>& a, const Block<T>& x, bool upper, bool unit, T* room) {
  constexpr long few_columns_of_x = 8;
  if (a.rows > few && x.columns <= few_columns_of_x) {
    const Columns<T> columns = pack(x, room);
    long j = 0;
    for (; j + 4 <= x.columns; j += 4) substitute_by_dots<4>(a, columns, j, upper, unit);
    for (; j < x.columns; j++) substitute_by_dots<1>(a, columns, j, upper, unit);
    return unpack(columns, x);
  }
  if (!upper) return substitute(a, x, unit, room);
  const Block<T> lower = a.with_rows_reversed().turned().with_rows_reversed().turned();
  substitute(lower, x.with_rows_reversed(), unit, room);
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
