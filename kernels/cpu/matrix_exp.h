// The exponential of matrices.
#pragma once
#include <cstddef>

#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Bytes that a matrix's exponential needs as room, 64-byte aligned.
std::size_t matrix_exp_room(long n);

/// y becomes the exponential of the row-major x[n, n], computed in f64.
template <class T>
struct MatrixExpTask {
  const T* x = nullptr;
  long n = 0;
  T* y = nullptr;
  double* room = nullptr;
};
template <class T>
using OnMatrixExp = void(const MatrixExpTask<T>&);
TENON_PER_ISA(OnMatrixExp<float>, matrix_exp_f32, matrix_exp_f32)
TENON_PER_ISA(OnMatrixExp<double>, matrix_exp_f64, matrix_exp_f64)

}  // namespace tenon::cpu
