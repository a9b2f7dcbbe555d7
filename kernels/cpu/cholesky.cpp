// Cholesky's factorisation and triangular systems, by halves: what plain loops compute is small, the rest are
// products. Built once per ISA.
#include "kernels/cpu/factor_tiles.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// -1, or the row whose pivot is not positive.
template <class T>
long factor_few(const Block<T>& m) {
  T column[few];
  for (long j = 0; j < m.rows; j++) {
    const T pivot = m(j, j);
    if (!(pivot > 0)) return j;
    const T root = sizeof(T) == 4 ? static_cast<T>(__builtin_sqrtf(static_cast<float>(pivot)))
                                  : static_cast<T>(__builtin_sqrt(pivot));
    m(j, j) = root;
    for (long i = j + 1; i < m.rows; i++) column[i] = m(i, j) /= root;
    for (long i = j + 1; i < m.rows; i++) {
      const T factor = column[i];
      T* const row = &m(i, 0);
      for (long k = j + 1; k <= i; k++) row[k] -= factor * column[k];
    }
  }
  return -1;
}

template <class T>
long factor(const Block<T>& m, T* work) {
  if (m.rows <= few) return factor_few(m);
  const long half = m.rows / 2;
  const Block<T> top = m.part(0, 0, half, half), below = m.part(half, 0, m.rows - half, half);
  long bad = factor(top, work);
  if (bad >= 0) return bad;
  substitute(top, below.turned(), false, work);
  const Block<T> rest = m.from(half, half);
  subtract_lower(rest, below, below.turned(), work);
  bad = factor(rest, work);
  return bad < 0 ? bad : half + bad;
}

template <class T>
long factor_cholesky(const MatrixTask<T>& task) {
  const long n = task.rows;
  const Block<T> l = dense(task.results[0], n, n);
  copy(task.a, n * n, l.data);
  const long bad = factor(l, task.room);
  for (long i = 0; i < n; i++)
    for (long j = i + 1; j < n; j++) l(i, j) = 0;
  return bad;
}

template <class T>
long solve_triangle(const MatrixTask<T>& task) {
  const Block<T> x = dense(task.results[0], task.rows, task.others);
  // A block is of numbers that may change; these do not.
  const Block<T> a = dense(const_cast<T*>(task.a), task.rows, task.rows);
  copy(task.b, task.rows * task.others, x.data);
  solve_triangular(a, x, task.upper, task.unit, task.room);
  return -1;
}

}  // namespace

TENON_ON_MATRIX(factor_cholesky)
TENON_ON_MATRIX(solve_triangle)

}  // namespace tenon::cpu::TENON_ISA
