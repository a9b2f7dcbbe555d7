// Gaussian elimination with partial pivoting, by halves of the columns, and what follows from it. Built once
// per ISA.
#include "kernels/cpu/factor_tiles.h"
#include "kernels/cpu/small_lu.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr long few_columns = 16;  // that are eliminated one by one

/// The first of the largest elements [k, rows) of a column, as the reference finds it: k where x[k] is NaN.
template <class T>
TENON_INLINE long pivot_of(const T* x, long k, long rows) {
  const T best = largest_size(x, k, rows);
  return best == 0 || x[k] != x[k] ? k : place_of_size(x, k, best);
}

/// Eliminates column by column. `pivots` become rows counted from 0.
template <class T>
void eliminate(const Columns<T>& m, std::int32_t* pivots) {
  using L = Lanes<T>;
  for (long k = 0; k < m.rows && k < m.count; k++) {
    T* const x = m[k];
    const long pivot = pivot_of(x, k, m.rows);
    pivots[k] = static_cast<std::int32_t>(pivot);
    if (pivot != k)
      for (long j = 0; j < m.count; j++) {
        const T kept = m[j][k];
        m[j][k] = m[j][pivot];
        m[j][pivot] = kept;
      }
    if (x[k] == 0) continue;
    for (long i = k + 1; i < m.rows; i += L::count) L::store(x + i, L::load(x + i) / x[k]);
    for (long j = k + 1; j < m.count; j++) subtract(m[j], x, m[j][k], k + 1, m.rows);
  }
}

template <class T>
void eliminate_packed(const Block<T>& m, std::int32_t* pivots, T* room) {
  const Columns<T> columns = pack(m, room);
  eliminate(columns, pivots);
  unpack(columns, m);
}

template <class T>
void swap_pivots(const Block<T>& m, const std::int32_t* pivots, long count) {
  for (long k = 0; k < count; k++) swap_rows(m, k, pivots[k]);
}

template <class T>
void eliminate_by_halves(const Block<T>& m, std::int32_t* pivots, T* room, T* work) {
  const long steps = m.rows < m.columns ? m.rows : m.columns;
  if (m.columns <= few_columns) return eliminate_packed(m, pivots, room);
  const long half =
      m.columns > m.rows ? m.rows : (m.columns / 2 + few_columns - 1) / few_columns * few_columns;
  const Block<T> left = m.part(0, 0, m.rows, half), right = m.from(0, half);
  eliminate_by_halves(left, pivots, room, work);
  swap_pivots(right, pivots, half);
  const Block<T> top = right.part(0, 0, half, right.columns), below = right.from(half, 0);
  substitute(left.part(0, 0, half, half), top, true, work);
  if (half == steps) return;
  subtract_product(below, left.from(half, 0), top, work);
  eliminate_by_halves(below, pivots + half, room, work);
  swap_pivots(left.from(half, 0), pivots + half, steps - half);
  for (long k = half; k < steps; k++) pivots[k] += static_cast<std::int32_t>(half);
}

/// L and U in place of the matrix. Where an infinity or NaN comes to depends on the order: it is the
/// reference's.
template <class T>
void factor(const Block<T>& m, std::int32_t* pivots, T* room) {
  if (m.columns <= few_columns || !is_finite(m.data, m.rows * m.columns))
    return eliminate_packed(m, pivots, room);
  eliminate_by_halves(m, pivots, room + typed_work_size, room);
}

template <class T>
long factor_lu(const MatrixTask<T>& task) {
  if (task.rows == task.columns && task.rows <= most_small)
    return with_small_lu(task.a, task.rows, [&](const auto& lu) {
      for (long i = 0; i < task.rows * task.rows; i++) task.results[0][i] = lu.numbers[i];
      for (long k = 0; k < task.rows; k++) task.pivots[k] = lu.pivots[k] + 1;
      return -1L;
    });
  const Block<T> m = dense(task.results[0], task.rows, task.columns);
  copy(task.a, m.rows * m.columns, m.data);
  factor(m, task.pivots, task.room);
  for (long k = 0; k < m.rows && k < m.columns; k++) task.pivots[k]++;
  return -1;
}

/// A copy of a that became L and U, and its pivots.
template <class T>
struct Factored {
  Block<T> m;
  std::int32_t* pivots;
  T* room;
  explicit Factored(const MatrixTask<T>& task) : m(dense<T>(nullptr, task.rows, task.rows)) {
    Room<T> left{task.room};
    m.data = left.take(m.rows * m.rows);
    pivots = reinterpret_cast<std::int32_t*>(left.take(m.rows));
    room = left.next;
    copy(task.a, m.rows * m.rows, m.data);
    factor(m, pivots, room);
  }
};

template <class T>
long solve_by_lu(const MatrixTask<T>& task) {
  if (task.rows <= most_small)
    return with_small_lu(task.a, task.rows, [&](const auto& lu) {
      const long bad = lu.singular_row();
      if (bad < 0) lu.solve(task.b, task.others, task.results[0]);
      return bad;
    });
  const Factored<T> lu(task);
  for (long i = 0; i < task.rows; i++)
    if (lu.m(i, i) == 0) return i;
  const Block<T> x = dense(task.results[0], task.rows, task.others);
  copy(task.b, x.rows * x.columns, x.data);
  swap_pivots(x, lu.pivots, x.rows);
  solve_triangular(lu.m, x, false, true, lu.room);
  solve_triangular(lu.m, x, true, false, lu.room);
  return -1;
}

/// The logarithm of a product, of which as much as double holds is multiplied first.
class LogarithmOfProduct {
 public:
  void multiply(double factor) {
    constexpr double least = 1e-100, most = 1e100;
    if (!(factor > least && factor < most)) {
      sum_ += __builtin_log(factor);
      return;
    }
    product_ *= factor;
    if (product_ > least && product_ < most) return;
    sum_ += __builtin_log(product_);
    product_ = 1;
  }
  double value() const { return sum_ + __builtin_log(product_); }

 private:
  double sum_ = 0, product_ = 1;
};

/// From the pivots on U's diagonal, whose elements lie `step` apart, and the rows that were exchanged.
template <class T>
long multiply_pivots(const MatrixTask<T>& task, const T* diagonal, long step, const std::int32_t* pivots) {
  double value = 1, sign = 1;
  LogarithmOfProduct size;
  for (long k = 0; k < task.rows; k++) {
    const double pivot = diagonal[k * step], turn = pivots[k] == k ? 1 : -1;
    value *= turn * pivot;
    sign *= pivot == 0 ? 0 : turn * __builtin_copysign(1, pivot);
    if (task.results[2]) size.multiply(__builtin_fabs(pivot));
  }
  *task.results[0] = static_cast<T>(value);
  *task.results[1] = static_cast<T>(sign);
  if (task.results[2]) *task.results[2] = static_cast<T>(size.value());
  return -1;
}

template <class T>
long find_determinant(const MatrixTask<T>& task) {
  const long step = task.rows + 1;
  if (task.rows <= most_small)
    return with_small_lu(task.a, task.rows,
                         [&](const auto& lu) { return multiply_pivots(task, lu.numbers, step, lu.pivots); });
  const Factored<T> lu(task);
  return multiply_pivots(task, lu.m.data, step, lu.pivots);
}

}  // namespace

TENON_ON_MATRIX(factor_lu)
TENON_ON_MATRIX(solve_by_lu)
TENON_ON_MATRIX(find_determinant)

}  // namespace tenon::cpu::TENON_ISA
