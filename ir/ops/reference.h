// What the reference implementations share: floats are computed in f64, integers and bool in i64, and the
// result is converted once, at the end.
#pragma once
#include "base/dtype.h"
#include "ir/ops/rules.h"
#include "ir/tensor.h"

namespace tenon {

inline DType wide_dtype(DType t) { return is_float(t) ? DType::f64 : DType::i64; }

/// A dense tensor in the wide dtype.
inline Tensor widened(const Tensor& t) { return t.to(wide_dtype(t.dtype())).contiguous(); }

/// The same as a copy of its own.
inline Tensor widened_copy(const Tensor& t) {
  Tensor copy = Tensor::empty(wide_dtype(t.dtype()), t.shape());
  copy.copy_from(t);
  return copy;
}

/// Calls f(dtype_tag<double>) for floats and f(dtype_tag<std::int64_t>) for integers and bool.
template <class F>
decltype(auto) dispatch_wide(DType t, F&& f) {
  if (is_float(t)) return f(dtype_tag<double>{});
  return f(dtype_tag<std::int64_t>{});
}

/// Sets every element.
void fill(Tensor& t, double value);

/// The axes of a tensor with the listed ones moved to the end, in the order listed.
Axes moved_last(std::size_t rank, const Axes& axes);
/// The inverse of a permutation.
Axes inverse(const Axes& permutation);

/// c[m,n] += a[m,k] b[k,n], each row-major with its distance between rows.
void multiply_add(const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c,
                  std::int64_t ldc, std::int64_t m, std::int64_t n, std::int64_t k);
void multiply_add(const std::int64_t* a, std::int64_t lda, const std::int64_t* b, std::int64_t ldb,
                  std::int64_t* c, std::int64_t ldc, std::int64_t m, std::int64_t n, std::int64_t k);

/// The element of `indices` at position i, checked. Negative ones count from the end where allowed.
std::int64_t checked_index(std::int64_t index, std::int64_t size, std::int64_t axis,
                           bool negative_allowed = false);

}  // namespace tenon
