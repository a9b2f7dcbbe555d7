// The matrices of a batch as the references of linear algebra see them.
#pragma once
#include "ir/tensor.h"

namespace tenon {

/// A row-major matrix in someone else's memory.
struct Matrix {
  double* data;
  std::int64_t rows, columns, stride = columns;
  double& operator()(std::int64_t i, std::int64_t j) const { return data[i * stride + j]; }
};

/// The size of an axis counted from the last, which is 1.
inline std::int64_t from_end(const Tensor& t, std::size_t axis) { return t.shape()[t.rank() - axis]; }
/// How many matrices there are.
inline std::int64_t matrices(const Tensor& t) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 2 < t.rank(); ++i) count *= t.shape()[i];
  return count;
}
/// Matrix k of a dense f64 tensor.
inline Matrix matrix(Tensor& t, std::int64_t k) {
  const std::int64_t rows = from_end(t, 2), columns = from_end(t, 1);
  return {t.mutable_data<double>() + k * rows * columns, rows, columns};
}

inline void swap_rows(const Matrix& m, std::int64_t i, std::int64_t k) {
  if (i == k) return;
  for (std::int64_t j = 0; j < m.columns; ++j) std::swap(m(i, j), m(k, j));
}

}  // namespace tenon
