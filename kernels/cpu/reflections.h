// Householder's reflections: a few columns one by one, the rest by the product of their reflections, I - V T
// V^T. Internal to householder.cpp, tridiagonal.cpp and bidiagonal.cpp.
#pragma once
#include "kernels/cpu/factor_tiles.h"
#include "kernels/cpu/row_rotations.h"

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

/// The same of columns from one on, several at once.
template <class T>
TENON_INLINE void reflect_columns_from(const T* x, T factor, long k, const Columns<T>& m, long first) {
  using L = Lanes<T>;
  constexpr long at_once = 4;
  for (; first + at_once <= m.count; first += at_once) {
    T* const y = m[first];
    typename L::V sums[at_once] = {};
    for (long i = k + 1; i < m.rows; i += L::count) {
      const typename L::V x_i = L::load(x + i);
      TENON_UNROLL
      for (long c = 0; c < at_once; c++) sums[c] += x_i * L::load(y + c * m.stride + i);
    }
    T scaled[at_once];
    TENON_UNROLL
    for (long c = 0; c < at_once; c++) {
      T& at_k = y[c * m.stride + k];
      scaled[c] = factor * (at_k + L::sum(sums[c]));
      at_k -= scaled[c];
    }
    for (long i = k + 1; i < m.rows; i += L::count) {
      const typename L::V x_i = L::load(x + i);
      TENON_UNROLL
      for (long c = 0; c < at_once; c++) {
        T* const at = y + c * m.stride + i;
        L::store(at, L::load(at) - scaled[c] * x_i);
      }
    }
  }
  for (; first < m.count; first++) reflect(x, factor, k, m.rows, m[first]);
}

template <class T>
struct Reflection {
  T factor;
  double first;  // of the reflected column, whose others become 0
};

/// Elements k + 1... of a column become those of the reflection's vector.
template <class T>
TENON_INLINE Reflection<T> find_reflection(T* x, long k, long rows) {
  using L = Lanes<T>;
  const double first = x[k], below = sum_of_squares(x, k + 1, rows);
  if (below == 0) return {0, first};
  const double beta = -__builtin_copysign(__builtin_sqrt(first * first + below), first);
  const T divisor = static_cast<T>(first - beta);
  for (long i = k + 1; i < rows; i += L::count) L::store(x + i, L::load(x + i) / divisor);
  return {static_cast<T>((beta - first) / beta), beta};
}

/// The columns become R and, below it, the vectors.
template <class T>
void reflect_columns(const Columns<T>& m, long count, T* factors) {
  for (long k = 0; k < count; k++) {
    T* const x = m[k];
    const Reflection<T> found = find_reflection(x, k, m.rows);
    factors[k] = found.factor;
    if (found.factor == 0) continue;
    x[k] = static_cast<T>(found.first);
    reflect_columns_from(x, factors[k], k, m, k + 1);
  }
}

/// The product of a few reflections.
template <class T>
struct Reflections {
  Block<T> vectors;  // V^T
  Block<T> inner;    // T, upper triangular
  T* products;       // room for two products with V^T
  T* work;

  Reflections(const Block<T>& rows, const T* factors, Room<T>& room, T* product_work)
      : vectors(rows),
        inner(dense(room.take(rows.rows * rows.rows), rows.rows, rows.rows)),
        products(room.next),
        work(product_work) {
    const long n = rows.rows;
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

/// V^T of columns that hold the vectors below the diagonal.
template <class T>
Block<T> vectors_of(const Columns<T>& m) {
  for (long j = 0; j < m.count; j++) {
    for (long i = 0; i < j; i++) m[j][i] = 0;
    m[j][j] = 1;
  }
  return {m.data, m.count, m.rows, m.stride};
}

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
    const Reflections<T> all(vectors_of(Columns<T>{columns.data, columns.rows, n, columns.stride}),
                             factors + k, room, work);
    all.apply(m.from(k, k + width), true);
  }
}

/// q becomes the product of the reflections in the columns of m with q, where that is the identity's first
/// columns or of any other numbers.
template <class T>
void reflect_all(const Block<T>& m, const T* factors, long count, const Block<T>& q, bool of_identity,
                 T* work) {
  const long rows = m.rows;
  Room<T> room{work + typed_work_size};
  if (rows <= few || !is_finite(m.data, rows * m.columns) || !is_finite(factors, count)) {
    const Columns<T> vectors = pack(m.part(0, 0, rows, count), room.take(Columns<T>::size(rows, count)));
    const Columns<T> columns = pack(q, room.take(Columns<T>::size(rows, q.columns)));
    for (long k = count; k-- > 0;) reflect_columns_from(vectors[k], factors[k], k, columns, 0);
    return unpack(columns, q);
  }
  for (long end = count; end > 0;) {
    const long k = (end - 1) / reflections_at_once * reflections_at_once;
    Room<T> left = room;
    const Columns<T> columns =
        pack(m.part(k, k, rows - k, end - k), left.take(Columns<T>::size(rows - k, end - k)));
    const Reflections<T> all(vectors_of(columns), factors + k, left, work);
    // An identity's columns before k are zeros there.
    all.apply(q.from(k, !of_identity ? 0 : k < q.columns ? k : q.columns), false);
    end = k;
  }
}

/// q becomes the first columns of the product of the reflections in the columns of m.
template <class T>
void multiply(const Block<T>& m, const T* factors, long count, const Block<T>& q, T* work) {
  Reflections<T>::zeros(q.data, q.rows, q.columns);
  for (long i = 0; i < q.rows && i < q.columns; i++) q(i, i) = 1;
  reflect_all(m, factors, count < m.rows ? count : m.rows, q, true, work);
}

/// The same of a row that is 0 before k and has room for whole vectors, which becomes the vector.
template <class T>
TENON_INLINE Reflection<T> find_row_reflection(T* x, long k, long end) {
  using L = Lanes<T>;
  constexpr double least = 1e-280;  // of squares; the numbers that matter are near 1
  const long first = k / L::count * L::count;
  const double at_k = x[k];
  x[k] = 0;
  const double below = sum_of_squares(x, first, end);
  if (below < least) {
    for (long i = first; i < end; i += L::count) L::store(x + i, typename L::V{});
    return {0, at_k};
  }
  const double beta = -__builtin_copysign(__builtin_sqrt(at_k * at_k + below), at_k);
  const T scale = static_cast<T>(1 / (at_k - beta));
  for (long i = first; i < end; i += L::count) L::store(x + i, L::load(x + i) * scale);
  x[k] = 1;
  return {static_cast<T>((beta - at_k) / beta), beta};
}

/// `N` rows less the parts of them along a reflection's vector x, elements [first, end), of whole vectors.
template <int N, class T>
TENON_INLINE void reflect_rows(const T* x, T factor, long first, long end, T* rows, long stride) {
  using L = Lanes<T>;
  typename L::V sums[N] = {};
  for (long i = first; i < end; i += L::count) {
    const typename L::V at_i = L::load(x + i);
    TENON_UNROLL
    for (int r = 0; r < N; r++) sums[r] += at_i * L::load(rows + r * stride + i);
  }
  T scaled[N];
  TENON_UNROLL
  for (int r = 0; r < N; r++) scaled[r] = factor * L::sum(sums[r]);
  for (long i = first; i < end; i += L::count) {
    const typename L::V at_i = L::load(x + i);
    TENON_UNROLL
    for (int r = 0; r < N; r++) {
      T* const at = rows + r * stride + i;
      L::store(at, L::load(at) - scaled[r] * at_i);
    }
  }
}

/// The vectors of reflections and their factors, in the type of a product.
template <class T>
struct ReflectionRows {
  Rows<T> vectors;
  const T* factors;

  ReflectionRows(const Rows<double>& rows, const double* given, Space& space) {
    if constexpr (sizeof(T) == sizeof(double)) {
      vectors = rows;
      factors = given;
    } else {
      vectors = {rounded(rows.data, rows.count * rows.stride, space), rows.count, rows.columns, rows.stride};
      factors = rounded(given, rows.count, space);
    }
  }
  static T* rounded(const double* from, long count, Space& space) {
    T* const to = space.take<T>(count);
    for (long i = 0; i < count; i++) to[i] = static_cast<T>(from[i]);
    return to;
  }
};

/// The rows become those times the transposed product of reflections; or before `of_identity` an identity's.
/// The vector of reflection k is row k, 1 at k + offset and 0 before.
template <class T>
void reflect_all_rows(const ReflectionRows<T>& all, long offset, const Rows<T>& rows, bool of_identity,
                      Room<T> room) {
  const Rows<T>& vectors = all.vectors;
  if (of_identity) {
    __builtin_memset(rows.data, 0, static_cast<std::size_t>(rows.count * rows.stride) * sizeof(T));
    for (long i = 0; i < rows.count; i++) rows[i][i] = 1;
  }
  T* const work = room.take(typed_work_size);
  for (long end = vectors.count; end > 0;) {
    const long k = (end - 1) / reflections_at_once * reflections_at_once, first = k + offset;
    if (rows.columns - first > 2 * few) {
      Room<T> left = room;
      const Reflections<T> block({vectors[k] + first, end - k, rows.columns - first, vectors.stride},
                                 all.factors + k, left, work);
      const long row = of_identity ? first : 0;  // an identity's rows before are zeros there
      block.apply({rows[row] + first, rows.columns - first, rows.count - row, 1, rows.stride}, false);
      end = k;
      continue;
    }
    for (; end > k; end--) {
      const long at = end - 1 + offset, aligned = at / Lanes<T>::count * Lanes<T>::count;
      const T *const x = vectors[end - 1], factor = all.factors[end - 1];
      long r = of_identity ? at : 0;
      for (; r + 4 <= rows.count; r += 4)
        reflect_rows<4>(x, factor, aligned, rows.columns, rows[r], rows.stride);
      for (; r < rows.count; r++) reflect_rows<1>(x, factor, aligned, rows.columns, rows[r], rows.stride);
    }
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
