// Factorisations of dense row-major matrices and systems of linear equations, one matrix a call. The
// algorithms are LAPACK's (Golub and Van Loan, Matrix Computations); ir/ops/linalg.h says what each gives.
#pragma once
#include <cstdint>

#include "kernels/cpu/isa.h"

namespace tenon::cpu {

inline constexpr long reflections_at_once = 32;

template <class T>
struct MatrixTask {
  long rows = 0, columns = 0;  // of a
  long others = 0;             // columns of b, or of q
  long factors = 0;            // reflections whose factors b holds
  const T *a = nullptr, *b = nullptr;
  const std::int32_t* given_pivots = nullptr;
  T* results[3] = {};
  std::int32_t* pivots = nullptr;
  bool upper = false, unit = false;
  T* room = nullptr;  // matrix_room() elements, 64-byte aligned
};

/// Elements that a task needs as room.
long matrix_room(long rows, long columns, long others);

/// -1; or of what cannot be computed the row at which that was seen.
template <class T>
using OnMatrix = long(const MatrixTask<T>&);

#define TENON_ON_MATRIX(name)                            \
  TENON_PER_ISA(OnMatrix<float>, name##_f32, name##_f32) \
  TENON_PER_ISA(OnMatrix<double>, name##_f64, name##_f64)

/// result 0: L. A pivot that is not positive is refused.
TENON_ON_MATRIX(factor_cholesky)
/// result 0: X with the triangle of a. `upper`, `unit`: which one.
TENON_ON_MATRIX(solve_triangle)
/// result 0: L and U, and `pivots`, counted from 1.
TENON_ON_MATRIX(factor_lu)
/// result 0: X with a X = b. A pivot of 0 is refused.
TENON_ON_MATRIX(solve_by_lu)
/// results: the determinant, its sign, the logarithm of its size (null: nobody wants it).
TENON_ON_MATRIX(find_determinant)
/// results: R and the vectors below it, the factors.
TENON_ON_MATRIX(find_reflections)
/// result 0: q, of `others` columns, from the vectors in a and the factors in b.
TENON_ON_MATRIX(multiply_reflections)
/// results: q of `others` columns, r of as many rows.
TENON_ON_MATRIX(factor_qr)
/// result 0: L and D, and `pivots`. A matrix whose column is 0 is refused.
TENON_ON_MATRIX(factor_ldl)
/// result 0: X, from the factor a and `given_pivots`. One that names no row is refused.
TENON_ON_MATRIX(solve_by_ldl)
#undef TENON_ON_MATRIX

/// Which row stands in each of `size` rows after the exchanges of `count` pivots, counted from 1. The number
/// of the first pivot that names none, or -1.
template <class P>
long list_pivot_rows(const P* pivots, long count, long size, std::int64_t* rows);

}  // namespace tenon::cpu
