// The matrix product of the references, and small helpers.
#include "ir/ops/reference.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tenon {
namespace {

constexpr std::int64_t rows_at_once = 4;
constexpr std::int64_t columns_at_once = 512;  // four rows of c stay in the L1 cache

template <class T>
void multiply_rows(const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* c, std::int64_t ldc,
                   std::int64_t n, std::int64_t k) {
  T* __restrict c0 = c;
  T* __restrict c1 = c + ldc;
  T* __restrict c2 = c + 2 * ldc;
  T* __restrict c3 = c + 3 * ldc;
  for (std::int64_t p = 0; p < k; ++p) {
    const T* __restrict row = b + p * ldb;
    const T a0 = a[p], a1 = a[lda + p], a2 = a[2 * lda + p], a3 = a[3 * lda + p];
    for (std::int64_t j = 0; j < n; ++j) {
      c0[j] += a0 * row[j];
      c1[j] += a1 * row[j];
      c2[j] += a2 * row[j];
      c3[j] += a3 * row[j];
    }
  }
}

template <class T>
void multiply_row(const T* a, const T* b, std::int64_t ldb, T* __restrict c, std::int64_t n, std::int64_t k) {
  for (std::int64_t p = 0; p < k; ++p) {
    const T* __restrict row = b + p * ldb;
    for (std::int64_t j = 0; j < n; ++j) c[j] += a[p] * row[j];
  }
}

// Integers are multiplied as unsigned: they wrap around.
template <class T>
void multiply(const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* c, std::int64_t ldc,
              std::int64_t m, std::int64_t n, std::int64_t k) {
  for (std::int64_t j = 0; j < n; j += columns_at_once) {
    const std::int64_t width = std::min(columns_at_once, n - j);
    std::int64_t i = 0;
    for (; i + rows_at_once <= m; i += rows_at_once)
      multiply_rows(a + i * lda, lda, b + j, ldb, c + i * ldc + j, ldc, width, k);
    for (; i < m; ++i) multiply_row(a + i * lda, b + j, ldb, c + i * ldc + j, width, k);
  }
}

}  // namespace

void multiply_add(const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c,
                  std::int64_t ldc, std::int64_t m, std::int64_t n, std::int64_t k) {
  multiply(a, lda, b, ldb, c, ldc, m, n, k);
}

void multiply_add(const std::int64_t* a, std::int64_t lda, const std::int64_t* b, std::int64_t ldb,
                  std::int64_t* c, std::int64_t ldc, std::int64_t m, std::int64_t n, std::int64_t k) {
  multiply(reinterpret_cast<const std::uint64_t*>(a), lda, reinterpret_cast<const std::uint64_t*>(b), ldb,
           reinterpret_cast<std::uint64_t*>(c), ldc, m, n, k);
}

void fill(Tensor& t, double value) { t.copy_from(Tensor::scalar(t.dtype(), value).expand(t.shape())); }

Axes moved_last(std::size_t rank, const Axes& axes) {
  Axes order;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
  order.insert(order.end(), axes.begin(), axes.end());
  return order;
}

Axes inverse(const Axes& permutation) {
  Axes out(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    out[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return out;
}

std::int64_t checked_index(std::int64_t index, std::int64_t size, std::int64_t axis, bool negative_allowed) {
  const std::int64_t lowest = negative_allowed ? -size : 0;
  if (index < lowest || index >= size)
    throw error("index {} is out of range for axis {} of size {}", index, axis, size);
  return index < 0 ? index + size : index;
}

}  // namespace tenon
