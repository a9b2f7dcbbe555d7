// Bunch and Kaufman's factorisation of symmetric matrices, with the pivots of LAPACK's sytrf and sytrs, a
// panel of columns at a time. The lower triangle is packed, so that its columns are contiguous. Built once
// per ISA.
#include "kernels/cpu/factor_tiles.h"

namespace tenon::cpu::TENON_ISA {
namespace {

template <class T>
TENON_INLINE T magnitude(T x) {
  return x < 0 ? -x : x;
}

template <class T>
TENON_INLINE void exchange(T& a, T& b) {
  const T kept = a;
  a = b;
  b = kept;
}

template <class T>
void exchange_in_rows(const Columns<T>& m, long first, long end, long i, long k) {
  if (i == k) return;
  for (long j = first; j < end; j++) exchange(m[j][i], m[j][k]);
}

/// The row that comes to the end of the block at k (-1: there is none), and whether the block is 2 x 2.
struct Pivot {
  long row;
  bool is_pair;
};

/// Some columns of the factor from the first on. m[j][i] is the element of row i and column j <= i; behind
/// the panel, m is as it was. w has those of the panel times D, one more than the panel may have.
template <class T>
struct Panel {
  Columns<T> m, w;
  long first;

  /// Column j of what is left at k, in column `to` of w.
  void bring_column(long k, long j, long to) const {
    using L = Lanes<T>;
    T* const y = w[to];
    for (long i = k; i < j; i++) y[i] = m[i][j];
    for (long i = j; i < m.rows; i += L::count) L::store(y + i, L::load(m[j] + i));
    long i = k;
    for (; i + 4 * L::count <= m.rows; i += 4 * L::count) subtract_before<4>(k, j, y, i);
    for (; i < m.rows; i += L::count) subtract_before<1>(k, j, y, i);
  }

  /// From a few vectors of a column, the columns of the panel before k.
  template <int Vectors>
  TENON_INLINE void subtract_before(long k, long j, T* y, long i) const {
    using L = Lanes<T>;
    typename L::V sum[Vectors];
    TENON_UNROLL
    for (int v = 0; v < Vectors; v++) sum[v] = L::load(y + i + v * L::count);
    for (long c = 0; c < k - first; c++) {
      const T factor = m[first + c][j];
      TENON_UNROLL
      for (int v = 0; v < Vectors; v++) sum[v] -= factor * L::load(w[c] + i + v * L::count);
    }
    TENON_UNROLL
    for (int v = 0; v < Vectors; v++) L::store(y + i + v * L::count, sum[v]);
  }

  /// Of what is left at k. Of a pivot elsewhere, w has its column in place of that of k, or behind it.
  Pivot bring_pivot(long k) const {
    const T alpha = static_cast<T>((1 + __builtin_sqrt(17.0)) / 8);
    T *const x = w[k - first], *const y = w[k - first + 1];
    bring_column(k, k, k - first);
    const T diagonal = magnitude(x[k]), below = largest_size(x, k + 1, m.rows);
    if (!(diagonal > 0 || (diagonal == diagonal && below > 0))) return {-1, false};
    if (diagonal >= alpha * below) return {k, false};
    const long row = place_of_size(x, k + 1, below);
    bring_column(k, row, k - first + 1);
    const T before = largest_size(y, k, row), after = largest_size(y, row + 1, m.rows);
    const T beside = after > before ? after : before;
    if (diagonal >= alpha * below * (below / beside)) return {k, false};
    if (magnitude(y[row]) < alpha * beside) return {row, true};
    copy(y + k, m.rows - k, x + k);
    return {row, false};
  }

  /// Row and column `end` of what is left come to `row`, whose own are in w.
  void move(long end, long row) const {
    if (row == end) return;
    m[row][row] = m[end][end];
    for (long j = end + 1; j < row; j++) m[j][row] = m[end][j];
    copy(m[end] + row + 1, m.rows - row - 1, m[row] + row + 1);
    exchange_in_rows(m, first, end, end, row);
    exchange_in_rows(w, 0, end - first + 1, end, row);
  }

  void divide_one(long k) const {
    const T* const x = w[k - first];
    const T pivot = m[k][k] = x[k];
    for (long i = k + 1; i < m.rows; i++) m[k][i] = x[i] / pivot;
  }

  void divide_two(long k) const {
    const T *const x = w[k - first], *const y = w[k - first + 1];
    const T side = x[k + 1], p = y[k + 1] / side, q = x[k] / side, scale = 1 / (p * q - 1) / side;
    m[k][k] = x[k];
    m[k][k + 1] = side;
    m[k + 1][k + 1] = y[k + 1];
    for (long i = k + 2; i < m.rows; i++) {
      m[k][i] = scale * (p * x[i] - y[i]);
      m[k + 1][i] = scale * (q * y[i] - x[i]);
    }
  }

  /// The first column behind the panel; or -1, and `bad` is the one that has no pivot.
  long factor(std::int32_t* pivots, long& bad) const {
    long k = first;
    while (k < m.rows && k - first + 1 < w.count) {
      const Pivot pivot = bring_pivot(k);
      if (pivot.row < 0) {
        bad = k;
        return -1;
      }
      const auto name = static_cast<std::int32_t>(pivot.row + 1);
      move(k + pivot.is_pair, pivot.row);
      if (pivot.is_pair) {
        divide_two(k);
        pivots[k] = pivots[k + 1] = -name;
        k += 2;
      } else {
        divide_one(k);
        pivots[k++] = name;
      }
    }
    return k;
  }

  void subtract_from_rest(long end, T* work) const {
    const long rest = m.rows - end, count = end - first;
    const Block<T> left{m[end] + end, rest, rest, 1, m.stride};
    subtract_lower(left, Block<T>{w[0] + end, rest, count, 1, w.stride},
                   Block<T>{m[first] + end, count, rest, m.stride, 1}, work);
  }

  /// Columns of the factor are not in the order of later pivots.
  void restore_rows(long end, const std::int32_t* pivots) const {
    for (long k = end - 1; k >= first; k--) {
      const long last = k;
      if (pivots[k] < 0) k--;
      exchange_in_rows(m, first, k, last, (pivots[k] < 0 ? -pivots[k] : pivots[k]) - 1L);
    }
  }
};

template <class T>
long factor_ldl(const MatrixTask<T>& task) {
  constexpr long panel = 64;
  const long n = task.rows, width = (n < panel ? n : panel) + 1;
  Room<T> room{task.room};
  T* const work = room.take(typed_work_size);
  const Columns<T> w = columns_in(room.take(Columns<T>::size(n, width)), n, width);
  const Columns<T> m = pack(dense(const_cast<T*>(task.a), n, n), room.next);
  for (long k = 0; k < n;) {
    const Panel<T> columns{m, w, k};
    long bad = -1;
    const long end = columns.factor(task.pivots, bad);
    if (end < 0) return bad;
    columns.subtract_from_rest(end, work);
    columns.restore_rows(end, task.pivots);
    k = end;
  }
  for (long j = 0; j < n; j++)
    for (long i = 0; i < j; i++) m[j][i] = 0;
  unpack(m, dense(task.results[0], n, n));
  return -1;
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

/// All exchanges come first, so that the factor is one triangle.
template <class T>
long solve_by_ldl(const MatrixTask<T>& task) {
  const long n = task.rows;
  const auto row_of = [&](long k) {
    return task.given_pivots[k] < 0 ? -1L - task.given_pivots[k] : task.given_pivots[k] - 1L;
  };
  const auto size_of = [&](long k) { return task.given_pivots[k] < 0 ? 2L : 1L; };
  const Block<T> a = dense(const_cast<T*>(task.a), n, n), x = dense(task.results[0], n, task.others);
  copy(task.b, n * x.columns, x.data);
  Room<T> room{task.room};
  T* const work = room.take(typed_work_size);
  const Block<T> l = dense(room.take(n * n), n, n);
  long* const blocks = reinterpret_cast<long*>(room.next);
  copy(a.data, n * n, l.data);
  long count = 0;
  for (long k = 0; k < n; k += size_of(k)) {
    const long size = size_of(k), row = row_of(k);
    if (row < 0 || row >= n || k + size > n) return k;
    swap_rows(x, k + size - 1, row);
    swap_rows(l.part(0, 0, n, k), k + size - 1, row);
    if (size == 2) l(k + 1, k) = 0;
    blocks[count++] = k;
  }
  substitute(l, x, true, work);
  for (long i = 0; i < count; i++) divide_by_block(a, x, blocks[i], size_of(blocks[i]));
  substitute(l.turned().with_rows_reversed().turned().with_rows_reversed().turned(), x.with_rows_reversed(),
             true, work);
  while (count-- > 0) swap_rows(x, blocks[count] + size_of(blocks[count]) - 1, row_of(blocks[count]));
  return -1;
}

}  // namespace

TENON_ON_MATRIX(factor_ldl)
TENON_ON_MATRIX(solve_by_ldl)

}  // namespace tenon::cpu::TENON_ISA
