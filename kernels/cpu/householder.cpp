// Matrices as reflections and an upper triangle, and products of reflections. Built once per ISA.
#include "kernels/cpu/reflections.h"

namespace tenon::cpu::TENON_ISA {
namespace {

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
