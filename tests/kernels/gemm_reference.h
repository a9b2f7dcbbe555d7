// A plain matrix product in double precision.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/gemm.h"
#include "tests/kernels/numbers.h"

namespace tenon::cpu {

/// c = relu?((a * b + bias) + residual), in doubles; b is K x N.
struct Reference {
  long M, N, K;
  const Numbers &a, &b;
  long a_stride;
  const Numbers* bias = nullptr;
  const Numbers* residual = nullptr;
  bool relu = false;

  double at(long m, long n) const {
    double sum = 0;
    for (long k = 0; k < K; k++) sum += double{a[m * a_stride + k]} * double{b[k * N + n]};
    if (bias) sum += double{(*bias)[n]};
    if (residual) sum += double{(*residual)[m * N + n]};
    return relu ? std::max(sum, 0.0) : sum;
  }
};

/// a [M, K], dense, by b, which is packed before.
inline Numbers product_of(long M, long N, long K, const Numbers& a, const MatrixB& b, ThreadPool& pool) {
  Numbers packed(packed_b_size(K, N, b)), c(M * N, untouched);
  pack_b(K, N, b, packed.data(), pool);
  const Gemm g{.M = M,
               .N = N,
               .K = K,
               .a = a.data(),
               .a_stride = K,
               .packed_b = packed.data(),
               .b = b,
               .c = c.data(),
               .c_stride = N};
  Numbers scratch(gemm_scratch_size(g, pool.threads()), untouched);
  gemm(g, scratch.data(), pool);
  return c;
}

/// c is dense but for its row stride, behind whose columns nothing was written.
inline void expect_equal(const Reference& expected, const Numbers& c, long c_stride, double offset = 0) {
  const double tolerance = 1e-5 * std::sqrt(static_cast<double>(expected.K + 1));
  for (long m = 0; m < expected.M; m++) {
    for (long n = 0; n < expected.N; n++) {
      ASSERT_NEAR(c[m * c_stride + n], expected.at(m, n) + offset, tolerance)
          << "at " << m << "," << n << " of " << expected.M << " x " << expected.N << " x " << expected.K;
    }
    for (long n = expected.N; n < c_stride; n++)
      ASSERT_EQ(c[m * c_stride + n], untouched) << "wrote past row " << m;
  }
}

}  // namespace tenon::cpu
