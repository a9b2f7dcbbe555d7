// Bunch and Kaufman's factorisation of symmetric matrices, with the pivots of LAPACK's sytf2 and sytrs. The
// lower triangle is packed, so that its columns are contiguous. Built once per ISA.
#include "kernels/cpu/factor_tiles.h"

namespace tenon::cpu::TENON_ISA {
namespace {

template <class T>
struct Largest {
  long place = 0;
  T size = 0;
  TENON_INLINE void see(long at, T number) {
    const T this_size = number < 0 ? -number : number;
    if (this_size > size) {
      place = at;
      size = this_size;
    }
  }
};

/// The row that comes to the end of the block at k (-1: there is none), and whether the block is 2 x 2.
struct Pivot {
  long row;
  bool is_pair;
};

/// m[j][i] is the element of row i and column j <= i.
template <class T>
Pivot pivot_of(const Columns<T>& m, long k) {
  const T alpha = static_cast<T>((1 + __builtin_sqrt(17.0)) / 8);
  const T diagonal = m[k][k] < 0 ? -m[k][k] : m[k][k];
  Largest<T> below;
  for (long i = k + 1; i < m.rows; i++) below.see(i, m[k][i]);
  if (!(diagonal > 0 || (diagonal == diagonal && below.size > 0))) return {-1, false};
  if (diagonal >= alpha * below.size) return {k, false};
  const long row = below.place;
  Largest<T> beside;
  for (long j = k; j < row; j++) beside.see(j, m[j][row]);
  for (long i = row + 1; i < m.rows; i++) beside.see(i, m[row][i]);
  if (diagonal >= alpha * below.size * (below.size / beside.size)) return {k, false};
  const T other = m[row][row] < 0 ? -m[row][row] : m[row][row];
  return {row, other < alpha * beside.size};
}

template <class T>
TENON_INLINE void exchange(T& a, T& b) {
  const T kept = a;
  a = b;
  b = kept;
}

/// Exchanges rows and columns i < k of the matrix from column i on.
template <class T>
void exchange_rows(const Columns<T>& m, long i, long k) {
  if (i == k) return;
  for (long j = k + 1; j < m.rows; j++) exchange(m[i][j], m[k][j]);
  for (long j = i + 1; j < k; j++) exchange(m[i][j], m[j][k]);
  exchange(m[i][i], m[k][k]);
}

template <class T>
void eliminate_one(const Columns<T>& m, long k) {
  for (long j = k + 1; j < m.rows; j++) {
    const T factor = m[k][j] / m[k][k];
    subtract(m[j], m[k], factor, j, m.rows);
    m[k][j] = factor;
  }
}

template <class T>
void eliminate_two(const Columns<T>& m, long k) {
  using L = Lanes<T>;
  T *const x = m[k], *const y = m[k + 1];
  const T side = x[k + 1], p = y[k + 1] / side, q = x[k] / side, scale = 1 / (p * q - 1) / side;
  for (long j = k + 2; j < m.rows; j++) {
    const T first = scale * (p * x[j] - y[j]), second = scale * (q * y[j] - x[j]);
    T* const to = m[j];
    for (long i = j; i < m.rows; i += L::count)
      L::store(to + i, L::load(to + i) - (first * L::load(x + i) + second * L::load(y + i)));
    x[j] = first;
    y[j] = second;
  }
}

template <class T>
long factor_ldl(const MatrixTask<T>& task) {
  const long n = task.rows;
  const Block<T> factor = dense(task.results[0], n, n);
  const Columns<T> m = pack(dense(const_cast<T*>(task.a), n, n), task.room);
  for (long k = 0; k < n; k++) {
    const Pivot pivot = pivot_of(m, k);
    if (pivot.row < 0) return k;
    const long end = k + pivot.is_pair;
    exchange_rows(m, end, pivot.row);
    const auto name = static_cast<std::int32_t>(pivot.row + 1);
    if (pivot.is_pair) {
      if (pivot.row != end) exchange(m[k][end], m[k][pivot.row]);
      eliminate_two(m, k);
      task.pivots[k] = task.pivots[end] = -name;
      k = end;
    } else {
      eliminate_one(m, k);
      task.pivots[k] = name;
    }
  }
  for (long j = 0; j < n; j++)
    for (long i = 0; i < j; i++) m[j][i] = 0;
  unpack(m, factor);
  return -1;
}

/// Row `to` of b less `factor` times row `from`.
template <class T>
TENON_INLINE void subtract_row(const Block<T>& b, long to, T factor, long from) {
  T *const y = &b(to, 0), *const x = &b(from, 0);
  for (long j = 0; j < b.columns; j++) y[j] -= factor * x[j];
}

template <class T>
void divide_by_block(const Block<T>& a, const Block<T>& b, long k, long size) {
  if (size == 1) {
    for (long j = 0; j < b.columns; j++) b(k, j) /= a(k, k);
    return;
  }
  const T side = a(k + 1, k), p = a(k, k) / side, q = a(k + 1, k + 1) / side, scale = p * q - 1;
  for (long j = 0; j < b.columns; j++) {
    const T first = b(k, j) / side, second = b(k + 1, j) / side;
    b(k, j) = (q * first - second) / scale;
    b(k + 1, j) = (p * second - first) / scale;
  }
}

template <class T>
long solve_by_ldl(const MatrixTask<T>& task) {
  const long n = task.rows;
  const auto row_of = [&](long k) {
    return task.given_pivots[k] < 0 ? -1L - task.given_pivots[k] : task.given_pivots[k] - 1L;
  };
  const auto size_of = [&](long k) { return task.given_pivots[k] < 0 ? 2L : 1L; };
  const Block<T> a = dense(const_cast<T*>(task.a), n, n), b = dense(task.results[0], n, task.others);
  copy(task.b, n * b.columns, b.data);
  long* const blocks = reinterpret_cast<long*>(task.room);
  long count = 0;
  for (long k = 0; k < n;) {
    const long size = size_of(k), row = row_of(k);
    if (row < 0 || row >= n || k + size > n) return k;
    swap_rows(b, k + size - 1, row);
    for (long i = k + size; i < n; i++)
      for (long c = k; c < k + size; c++) subtract_row(b, i, a(i, c), c);
    divide_by_block(a, b, k, size);
    blocks[count++] = k;
    k += size;
  }
  while (count-- > 0) {
    const long k = blocks[count], size = size_of(k);
    for (long c = k; c < k + size; c++)
      for (long i = k + size; i < n; i++) subtract_row(b, c, a(i, c), i);
    swap_rows(b, k + size - 1, row_of(k));
  }
  return -1;
}

}  // namespace

TENON_ON_MATRIX(factor_ldl)
TENON_ON_MATRIX(solve_by_ldl)

}  // namespace tenon::cpu::TENON_ISA
