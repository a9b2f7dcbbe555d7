// Singular values: reflections from both sides make a matrix bidiagonal, implicit QR iterations diagonal. One
// much taller than wide is first made a triangle. Built once per ISA.
#include "kernels/cpu/divide_conquer.h"
#include "kernels/cpu/implicit_qr.h"
#include "kernels/cpu/qd_values.h"
#include "kernels/cpu/reflections.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// The active part of a matrix, whose columns are rows here, less u y^T + z v^T, and in the same pass over
/// memory x times what is left.
template <class T>
struct ColumnPass {
  using L = Lanes<T>;
  using V = typename L::V;
  const Rows<T>& a;
  const T *u, *y, *z, *v, *x;
  T* products;

  void run(long first_row, long first_column) const {
    const long first = first_row / L::count * L::count;
    for (long j = first_column / 2 * 2; j < a.count; j += 2) pair(first, j);
  }

  TENON_INLINE V less(T* at, long i, V y_j, V v_j) const {
    const V left = L::load(at + i) - L::load(u + i) * y_j - L::load(z + i) * v_j;
    L::store(at + i, left);
    return left;
  }

  TENON_INLINE void pair(long first, long j) const {
    T *const p = a[j], *const q = a[j + 1];
    const V y_p = y[j] - V{}, v_p = v[j] - V{}, y_q = y[j + 1] - V{}, v_q = v[j + 1] - V{};
    V sum_p{}, sum_q{};
    for (long i = first; i < a.end(); i += L::count) {
      const V x_i = L::load(x + i);
      sum_p += less(p, i, y_p, v_p) * x_i;
      sum_q += less(q, i, y_q, v_q) * x_i;
    }
    products[j] = L::sum(sum_p);
    products[j + 1] = L::sum(sum_q);
  }
};

constexpr long columns_at_once = 4;

/// The columns of a from one on times v.
template <class T>
void multiply_columns_by(const Rows<T>& a, const T* v, long first_row, long first_column, T* product) {
  using L = Lanes<T>;
  const long first = first_row / L::count * L::count;
  for (long i = first; i < a.end(); i += L::count) L::store(product + i, typename L::V{});
  for (long j = first_column / columns_at_once * columns_at_once; j < a.count; j += columns_at_once) {
    const T* const at = a[j];
    for (long i = first; i < a.end(); i += L::count) {
      typename L::V sum = L::load(product + i);
      TENON_UNROLL
      for (long c = 0; c < columns_at_once; c++) sum += v[j + c] * L::load(at + c * a.stride + i);
      L::store(product + i, sum);
    }
  }
}

template <class T>
void set_zero(T* from, long first, long end) {
  for (long i = first; i < end; i++) from[i] = 0;
}

/// a = U B V^T. Row k of a becomes the vector of reflection k from the left, 1 at k; row k of `right` that
/// from the right, 1 at k + 1.
template <class T>
__attribute__((noinline)) void make_bidiagonal(const Rows<T>& a, const Rows<T>& right, const Bidiagonal& b,
                                               T* left_factors, T* right_factors, Space space) {
  using L = Lanes<T>;
  const long wide = row_stride(a.columns), high = row_stride(a.count);
  T *const u = space.take_zeros<T>(wide), *const z = space.take_zeros<T>(wide);
  T *const y = space.take_zeros<T>(high), *const v = space.take_zeros<T>(high);
  T* const products = space.take_zeros<T>(high);
  for (long k = 0; k < b.n; k++) {
    T* const x = a[k];
    const long aligned = k / L::count * L::count, next = (k + 1) / L::count * L::count;
    if (k > 0) {
      for (long i = aligned; i < a.end(); i += L::count)
        L::store(x + i, L::load(x + i) - L::load(u + i) * y[k] - L::load(z + i) * v[k]);
    }
    set_zero(x, 0, k);
    const Reflection<T> from_left = find_row_reflection(x, k, a.end());
    b.d[k] = from_left.first;
    left_factors[k] = from_left.factor;
    if (k == b.n - 1) return;
    y[k] = v[k] = 0;
    ColumnPass<T>{a, u, y, z, v, x, products}.run(k, k + 1);
    T* const row = right[k];
    for (long j = k + 1; j < b.n; j++) {
      y[j] = from_left.factor * products[j];
      row[j] = a[j][k] - y[j];
    }
    const Reflection<T> from_right = find_row_reflection(row, k + 1, right.end());
    b.e[k] = from_right.first;
    right_factors[k] = from_right.factor;
    copy(row + next, right.end() - next, v + next);
    const T along = dot(y, row, next, right.end());
    multiply_columns_by(a, v, k + 1, k + 1, z);
    for (long i = next; i < a.end(); i += L::count) {
      const typename L::V u_i = L::load(x + i);
      L::store(u + i, u_i);
      L::store(z + i, from_right.factor * (L::load(z + i) - along * u_i));
    }
    set_zero(z, next, k + 1);
    set_zero(u, next, k + 1);
  }
}

/// Of what squares are computed in f64, the least next to the largest whose vectors are exact in float32.
constexpr double least_square = 1e-8;

/// The singular values and vectors (rows) of B, by the eigenvectors of B^T B, which is as exact as float32
/// where no value is too small next to the largest: else nothing changes, and the answer is false.
bool decompose_by_squares(const Bidiagonal& b, const Rows<float>& left, const Rows<float>& right,
                          Space space) {
  const long n = b.n;
  double *const d = space.take<double>(n), *const e = space.take<double>(n);
  double largest = 0, least = __builtin_inf();
  for (long i = 0; i < n; i++) {
    d[i] = b.d[i] * b.d[i] + (i > 0 ? b.e[i - 1] * b.e[i - 1] : 0);
    if (i < n - 1) e[i] = b.d[i] * b.e[i];
  }
  const double tiny = size_of(d, e, n) * unit_roundoff * unit_roundoff;
  const Rows<double> rows = Rows<double>::zeros(n, n, space);
  DivideConquer(rows, d, e, tiny, space).solve(0, n);
  for (long i = 0; i < n; i++) {
    largest = largest < d[i] ? d[i] : largest;
    least = d[i] < least ? d[i] : least;
  }
  if (!(least > least_square * largest)) return false;
  for (long i = 0; i < n; i++) {
    const double* const v = rows[i];
    const double value = __builtin_sqrt(d[i]), scale = 1 / value;
    for (long j = 0; j < n - 1; j++)
      left[i][j] = static_cast<float>((b.d[j] * v[j] + b.e[j] * v[j + 1]) * scale);
    left[i][n - 1] = static_cast<float>(b.d[n - 1] * v[n - 1] * scale);
    for (long j = n; j < left.stride; j++) left[i][j] = 0;
    d[i] = value;
  }
  copy(d, n, b.d);
  round_to(rows, right);
  return true;
}
bool decompose_by_squares(const Bidiagonal&, const Rows<double>&, const Rows<double>&, const Space&) {
  return false;
}

/// The singular values of x and its vectors, if they are asked for, by the eigenvectors of x^T x: as exact as
/// products of float32, where no value is too small next to the largest for its vector.
bool find_by_squares(const SpectrumTask<float>& task, const Block<const double>& x, Space space) {
  const long m = x.rows, n = x.columns;
  const Block<double> given{const_cast<double*>(x.data), m, n, x.row, x.column};
  const Block<double> squares = dense(space.take_zeros<double>(n * n), n, n);  // negative
  subtract_product(squares, given.turned(), given, space.take<double>(typed_work_size));
  SpectrumTask<double> of_squares{.rows = n, .columns = n, .x = squares.data, .values = task.values};
  const Rows<double> rows = Rows<double>::zeros(n, n, space);
  if (task.right) of_squares.right = rows.data;
  of_squares.room = space.next;
  find_eigen_f64(of_squares);
  double largest = 0, least = __builtin_inf();
  for (long i = 0; i < n; i++) {
    const double square = -task.values[i] > 0 ? -task.values[i] : 0;
    largest = largest < square ? square : largest;
    least = square < least ? square : least;
    task.values[i] = __builtin_sqrt(square);
  }
  if (!task.right) return true;
  if (!(least > least_square * largest)) return false;
  round_to(rows, Rows<float>{task.right, n, n, row_stride(n)});
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++) rows[i][j] /= -task.values[i];
  const Rows<double> left = Rows<double>::zeros(n, m, space);
  subtract_product(Block<double>{left.data, n, m, left.stride}, Block<double>{rows.data, n, n, rows.stride},
                   given.turned(), space.take<double>(typed_work_size));
  round_to(left, Rows<float>{task.left, n, m, left.stride});
  return true;
}
bool find_by_squares(const SpectrumTask<double>&, const Block<const double>&, const Space&) { return false; }

template <class T>
void find_singular(const SpectrumTask<T>& task) {
  const bool is_tall = task.rows > task.columns;
  const long m = is_tall ? task.rows : task.columns, n = is_tall ? task.columns : task.rows;
  const bool much_taller = 2 * m > 3 * n;
  const long rows = much_taller ? n : m;
  Space space{task.room};
  if (much_taller) {
    const Block<const double> tall =
        is_tall ? Block<const double>{task.x, m, n, n} : Block<const double>{task.x, m, n, 1, m};
    if (find_by_squares(task, tall, space)) return;
  }
  const Bidiagonal b{task.values, space.take<double>(n), n};
  double *const left_factors = space.take<double>(n), *const right_factors = space.take<double>(n);
  double* const first_factors = space.take<double>(n);
  double* const x = space.take<double>(m * n);
  copy(task.x, m * n, x);
  const Block<double> given = is_tall ? dense(x, m, n) : dense(x, n, m).turned();
  const long padded = (n + columns_at_once - 1) / columns_at_once * columns_at_once;
  Rows<double> a = Rows<double>::zeros(padded, rows, space);
  Rows<double> from_right = Rows<double>::zeros(n, n, space);
  if (much_taller) factor(given, first_factors, space.take<double>(0));
  for (long j = 0; j < n; j++)
    for (long i = 0; i < (much_taller ? j + 1 : rows); i++) a[j][i] = given(i, j);
  make_bidiagonal(a, from_right, b, left_factors, right_factors, space);
  if (!task.left) {
    if (!find_bidiagonal_values(b.d, b.e, n, space)) make_diagonal<T>(b, {nullptr, nullptr});
    return;
  }
  a.count = n;
  from_right.count = n - 1;
  const Rows<T> left{task.left, n, rows, row_stride(m)}, right{task.right, n, n, row_stride(n)};
  const bool is_done = decompose_by_squares(b, left, right, space);
  {
    Space rest = space;
    const ReflectionRows<T> of_left(a, left_factors, rest), of_right(from_right, right_factors, rest);
    reflect_all_rows(of_left, 0, left, !is_done, Room<T>{rest.take<T>(0)});
    reflect_all_rows(of_right, 1, right, !is_done, Room<T>{rest.take<T>(0)});
  }
  if (!is_done) {
    Space rest = space;
    RowRotations<T> of_left(left, rest), of_right(right, rest);
    make_diagonal<T>(b, {&of_left, &of_right});
    of_left.apply();
    of_right.apply();
  }
  if (much_taller) {
    T* const vectors = ReflectionRows<T>::rounded(x, m * n, space);
    const T* const factors = ReflectionRows<T>::rounded(first_factors, n, space);
    reflect_all(is_tall ? dense(vectors, m, n) : dense(vectors, n, m).turned(), factors, n,
                Block<T>{left.data, m, n, 1, left.stride}, false, space.take<T>(0));
  }
}

}  // namespace

void find_singular_f32(const SpectrumTask<float>& task) { find_singular(task); }
void find_singular_f64(const SpectrumTask<double>& task) { find_singular(task); }

}  // namespace tenon::cpu::TENON_ISA
