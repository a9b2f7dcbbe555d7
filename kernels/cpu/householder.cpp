// Householder's reflections: a few columns one by one, the rest by the product of their reflections, I - V T
// V^T. Built once per ISA.
#include "kernels/cpu/factor_tiles.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// x y, elements [first, end) of columns.
template <class T>
TENON_INLINE T dot(const T* x, const T* y, long first, long end) {
  using L = Lanes<T>;
  constexpr long few_terms = 4;  // fewer instructions than to add up the lanes
  if (end - first <= few_terms) {
    T sum = 0;
    for (long i = first; i < end; i++) sum += x[i] * y[i];
    return sum;
  }
  typename L::V sums{};
  for (long i = first; i < end; i += L::count) sums += L::load(x + i) * L::load(y + i);
  return L::sum(sums);
}

/// The sum of the squares, elements [first, end): of float32 too it is neither too large nor too small.
template <class T>
double sum_of_squares(const T* x, long first, long end) {
  constexpr double largest = 1e30, least = 1e-20;
  double sum = dot(x, x, first, end);
  if (sizeof(T) == sizeof(double) || (sum > least && sum < largest)) return sum;
  sum = 0;
  for (long i = first; i < end; i++) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

/// y becomes H y for the reflection whose vector is 1 at k, then x[k + 1...].
template <class T>
TENON_INLINE void reflect(const T* x, T factor, long k, long rows, T* y) {
  const T scaled = factor * (y[k] + dot(x, y, k + 1, rows));
  y[k] -= scaled;
  subtract(y, x, scaled, k + 1, rows);
}

/// The columns become R and, below it, the vectors.
template <class T>
void reflect_columns(const Columns<T>& m, long count, T* factors) {
  using L = Lanes<T>;
  for (long k = 0; k < count; k++) {
    T* const x = m[k];
    factors[k] = 0;
    const double below = sum_of_squares(x, k + 1, m.rows);
    if (below == 0) continue;
    const double first = x[k], beta = -__builtin_copysign(__builtin_sqrt(first * first + below), first);
    const T divisor = static_cast<T>(first - beta);
    factors[k] = static_cast<T>((beta - first) / beta);
    for (long i = k + 1; i < m.rows; i += L::count) L::store(x + i, L::load(x + i) / divisor);
    x[k] = static_cast<T>(beta);
    for (long j = k + 1; j < m.count; j++) reflect(x, factors[k], k, m.rows, m[j]);
  }
}

/// The product of a few reflections.
template <class T>
struct Reflections {
  Block<T> vectors;  // V^T
  Block<T> inner;    // T, upper triangular
  T* products;       // room for two products with V^T
  T* work;

  /// From columns that hold the vectors below the diagonal, which become the vectors.
  Reflections(const Columns<T>& m, const T* factors, Room<T>& room, T* product_work)
      : vectors{m.data, m.count, m.rows, m.stride},
        inner(dense(room.take(m.count * m.count), m.count, m.count)),
        products(room.next),
        work(product_work) {
    const long n = m.count;
    for (long j = 0; j < n; j++) {
      for (long i = 0; i < j; i++) m[j][i] = 0;
      m[j][j] = 1;
    }
    const Block<T> dots = zeros(products, n, n);  // negative
    subtract_product(dots, vectors, vectors.turned(), work);
    for (long j = 0; j < n; j++)
      for (long i = 0; i < n; i++) {
        T sum = 0;
        for (long k = i; k < j; k++) sum += inner(i, k) * dots(k, j);
        inner(i, j) = i < j ? factors[j] * sum : i == j ? factors[j] : 0;
      }
  }

  static Block<T> zeros(T* data, long rows, long columns) {
    __builtin_memset(data, 0, static_cast<std::size_t>(rows * columns) * sizeof(T));
    return dense(data, rows, columns);
  }

  /// m -= V T V^T m, or with `turned` V T^T V^T m.
  void apply(const Block<T>& m, bool turned) const {
    const long n = vectors.rows;
    const Block<T> first = zeros(products, n, m.columns);
    subtract_product(first, vectors, m, work);
    const Block<T> second = zeros(products + n * m.columns, n, m.columns);
    subtract_product(second, turned ? inner.turned() : inner, first, work);
    subtract_product(m, vectors.turned(), second, work);
  }
};

/// The matrix becomes R and, below it, the vectors. Where an infinity or NaN comes to depends on the order,
/// which is then the reference's: one reflection after the other.
template <class T>
void factor(const Block<T>& m, T* factors, T* work) {
  const long count = m.rows < m.columns ? m.rows : m.columns;
  const bool one_by_one = m.columns >= 2 * reflections_at_once && !is_finite(m.data, m.rows * m.columns);
  for (long k = 0; k < count; k += reflections_at_once) {
    const long left = m.columns - k;
    const long width = one_by_one || left < 2 * reflections_at_once ? left : reflections_at_once;
    const long n = width < count - k ? width : count - k;
    Room<T> room{work + typed_work_size};
    const Block<T> panel = m.part(k, k, m.rows - k, width);
    const Columns<T> columns = pack(panel, room.take(Columns<T>::size(panel.rows, width)));
    reflect_columns(columns, n, factors + k);
    unpack(columns, panel);
    if (width == left) return;
    const Reflections<T> all({columns.data, columns.rows, n, columns.stride}, factors + k, room, work);
    all.apply(m.from(k, k + width), true);
  }
}

/// q becomes the first columns of the product of the reflections in the columns of m.
template <class T>
void multiply(const Block<T>& m, const T* factors, long count, const Block<T>& q, T* work) {
  const long rows = m.rows;
  Reflections<T>::zeros(q.data, q.rows, q.columns);
  for (long i = 0; i < q.rows && i < q.columns; i++) q(i, i) = 1;
  if (count > rows) count = rows;
  Room<T> room{work + typed_work_size};
  if (rows <= few || !is_finite(m.data, rows * m.columns) || !is_finite(factors, count)) {
    const Columns<T> vectors = pack(m.part(0, 0, rows, count), room.take(Columns<T>::size(rows, count)));
    const Columns<T> columns = pack(q, room.take(Columns<T>::size(rows, q.columns)));
    for (long k = count; k-- > 0;)
      for (long j = 0; j < q.columns; j++) reflect(vectors[k], factors[k], k, rows, columns[j]);
    return unpack(columns, q);
  }
  for (long end = count; end > 0;) {
    const long k = (end - 1) / reflections_at_once * reflections_at_once;
    Room<T> left = room;
    const Columns<T> columns =
        pack(m.part(k, k, rows - k, end - k), left.take(Columns<T>::size(rows - k, end - k)));
    const Reflections<T> all(columns, factors + k, left, work);
    // Columns before k are zeros there.
    all.apply(q.from(k, k < q.columns ? k : q.columns), false);
    end = k;
  }
}

template <class T>
long find_reflections(const MatrixTask<T>& task) {
  const Block<T> m = dense(task.results[0], task.rows, task.columns);
  copy(task.a, m.rows * m.columns, m.data);
  factor(m, task.results[1], task.room);
  return -1;
}

template <class T>
long multiply_reflections(const MatrixTask<T>& task) {
  multiply(dense(const_cast<T*>(task.a), task.rows, task.columns), task.b, task.factors,
           dense(task.results[0], task.rows, task.others), task.room);
  return -1;
}

template <class T>
long factor_qr(const MatrixTask<T>& task) {
  const long rows = task.rows, columns = task.columns, inner = task.others;
  Room<T> room{task.room};
  const Block<T> m = dense(room.take(rows * columns), rows, columns);
  T* const factors = room.take(rows < columns ? rows : columns);
  copy(task.a, rows * columns, m.data);
  factor(m, factors, room.next);
  for (long i = 0; i < inner; i++)
    for (long j = 0; j < columns; j++) task.results[1][i * columns + j] = j < i ? 0 : m(i, j);
  multiply(m, factors, rows < columns ? rows : columns, dense(task.results[0], rows, inner), room.next);
  return -1;
}

}  // namespace

TENON_ON_MATRIX(find_reflections)
TENON_ON_MATRIX(multiply_reflections)
TENON_ON_MATRIX(factor_qr)

}  // namespace tenon::cpu::TENON_ISA
