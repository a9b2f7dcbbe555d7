// Symmetric matrices: reflections make them tridiagonal, implicit QL iterations diagonal. Built once per ISA.
#include "kernels/cpu/divide_conquer.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// The active part of a symmetric matrix, columns of the lower triangle (of the vectors on the diagonal all),
/// less v w^T + w v^T, and what is left times x, in one pass over memory.
template <class T>
struct SymmetricPass {
  using L = Lanes<T>;
  using V = typename L::V;
  const Rows<T>& a;
  const T *v, *w, *x;
  T *y, *dots;  // their sum is the product

  void run(long first) const {
    for (long i = first / L::count * L::count; i < a.columns; i += L::count) L::store(y + i, V{});
    for (long g = first / L::count * L::count; g < a.columns; g += L::count)
      for (long j = g > first ? g : first / 2 * 2; j < g + L::count; j += 2) pair(g, j);
  }

  TENON_INLINE V less(T* at, long i, V v_j, V w_j) const {
    const V left = L::load(at + i) - L::load(v + i) * w_j - L::load(w + i) * v_j;
    L::store(at + i, left);
    return left;
  }

  TENON_INLINE void pair(long g, long j) const {
    T *const p = a[j], *const q = a[j + 1];
    const V v_p = v[j] - V{}, w_p = w[j] - V{}, x_p = x[j] - V{};
    const V v_q = v[j + 1] - V{}, w_q = w[j + 1] - V{}, x_q = x[j + 1] - V{};
    L::store(y + g, L::load(y + g) + less(p, g, v_p, w_p) * x_p + less(q, g, v_q, w_q) * x_q);
    V sum_p{}, sum_q{};
    for (long i = g + L::count; i < a.columns; i += L::count) {
      const V at_p = less(p, i, v_p, w_p), at_q = less(q, i, v_q, w_q), x_i = L::load(x + i);
      L::store(y + i, L::load(y + i) + at_p * x_p + at_q * x_q);
      sum_p += at_p * x_i;
      sum_q += at_q * x_i;
    }
    dots[j] = L::sum(sum_p);
    dots[j + 1] = L::sum(sum_q);
  }
};

/// a = Q T Q^T for the tridiagonal T of d and e. Row k of a becomes the vector of reflection k, 1 at k + 1.
template <class T>
__attribute__((noinline)) void make_tridiagonal(const Rows<T>& a, double* d, double* e, T* factors,
                                                Space space) {
  using L = Lanes<T>;
  const long n = a.columns;
  T *const v = space.take_zeros<T>(a.stride), *const w = space.take_zeros<T>(a.stride);
  T *const y = space.take_zeros<T>(a.stride), *const dots = space.take_zeros<T>(a.stride);
  const long end = a.end();
  for (long k = 0; k < n; k++) {
    T* const x = a[k];
    const long first = (k + 1) / L::count * L::count;
    if (k > 0)
      for (long i = k / L::count * L::count; i < end; i += L::count)
        L::store(x + i, L::load(x + i) - L::load(v + i) * w[k] - L::load(w + i) * v[k]);
    d[k] = x[k];
    if (k == n - 1) return;
    v[k] = w[k] = 0;
    for (long i = k / L::count * L::count; i <= k; i++) x[i] = 0;
    const Reflection<T> found = find_row_reflection(x, k + 1, end);
    e[k] = found.first;
    factors[k] = found.factor;
    SymmetricPass<T>{a, v, w, x, y, dots}.run(k + 1);
    typename L::V sums{};
    for (long i = first; i < end; i += L::count) {
      const typename L::V product = found.factor * (L::load(y + i) + L::load(dots + i));
      L::store(w + i, product);
      sums += product * L::load(x + i);
    }
    const T along = found.factor / 2 * L::sum(sums);
    for (long i = first; i < end; i += L::count) {
      L::store(w + i, L::load(w + i) - along * L::load(x + i));
      L::store(v + i, L::load(x + i));
    }
    for (long i = first; i <= k; i++) w[i] = 0;
  }
}

/// Rows of `to`: columns of the lower triangle of x, and on the diagonal what whole vectors hold of them.
template <class T>
void copy_lower_triangle(const double* x, const Rows<T>& to) {
  constexpr long at_once = 8;  // rows that are written
  const long n = to.columns;
  for (long j = 0; j < n; j += at_once) {
    const long end = j + at_once < n ? j + at_once : n;
    for (long i = j; i < n; i++)
      for (long k = j; k < end; k++) to[k][i] = static_cast<T>(x[i * n + k]);
  }
  for (long j = 0; j < n; j++) {
    const long first = j / Lanes<T>::count * Lanes<T>::count;
    for (long i = j / at_once * at_once; i < first; i++) to[j][i] = 0;
    for (long i = first; i < j; i++) to[j][i] = static_cast<T>(x[j * n + i]);
  }
}

template <class T>
void find_eigen(const SpectrumTask<T>& task) {
  constexpr long few_rows = 64;  // of which iterations turn vectors in less time than products
  const long n = task.columns;
  Space space{task.room};
  const Rows<T> rows{task.right, n, n, row_stride(n)};
  Rows<double> a = Rows<double>::zeros(row_stride(n), n, space);
  double *const d = task.values, *const e = space.take<double>(n), *const factors = space.take<double>(n);
  copy_lower_triangle(task.x, a);
  make_tridiagonal(a, d, e, factors, space);
  const double tiny = size_of(d, e, n) * unit_roundoff * unit_roundoff;
  if (!task.right) {
    for (long i = 0; i < n - 1; i++) e[i] *= e[i];
    return find_values(ValuesOnly{tiny}, d, e, n);
  }
  a.count = n - 1;
  const bool few_at_once = n <= few_rows;
  if (!few_at_once) {
    const Rows<double> found = Rows<double>::zeros(n, n, space);
    DivideConquer(found, d, e, tiny, space).solve(0, n);
    round_to(found, rows);
  }
  {
    Space rest = space;
    const ReflectionRows<T> reflections(a, factors, rest);
    reflect_all_rows(reflections, 1, rows, few_at_once, Room<T>{rest.take<T>(0)});
  }
  if (!few_at_once) return;
  RowRotations<T> rotations(rows, space);
  find_values(WithVectors<T>{rotations, tiny}, d, e, n);
  rotations.apply();
}

}  // namespace

void find_eigen_f32(const SpectrumTask<float>& task) { find_eigen(task); }
void find_eigen_f64(const SpectrumTask<double>& task) { find_eigen(task); }

}  // namespace tenon::cpu::TENON_ISA
