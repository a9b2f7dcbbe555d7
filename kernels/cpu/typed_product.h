// Matrix products of float64 and of integers, and float32 products that are vectors or small, which read B as
// it lies.
#pragma once
#include <cstddef>

#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// c[m][n] = bias[n] + the sum of a[m][k] * b[k][n]. Strides count elements; the columns of c are contiguous.
/// T: float, double, std::int32_t or std::int64_t; integers wrap around.
template <class T>
struct TypedProduct {
  long M = 0, N = 0, K = 0;
  const T* a = nullptr;
  long a_row = 0, a_column = 1;
  const T* b = nullptr;
  long b_row = 0, b_column = 1;
  T* c = nullptr;
  long c_row = 0;
  const T* bias = nullptr;
  long bias_step = 1;  // 0: the same for all columns, of a few rows
  long batch = 1;      // products, so far apart:
  long a_batch = 0, b_batch = 0, c_batch = 0;

  /// Few enough numbers that both sides are read where they lie, without being packed?
  bool is_small() const {
    constexpr long most = 16384;
    return b_column == 1 && K * N <= most;
  }
};

template <class T>
std::size_t typed_product_scratch_size(const TypedProduct<T>& product, int threads);  // bytes
/// c may not overlap a, b or the bias.
template <class T>
void typed_product(const TypedProduct<T>& product, std::byte* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
