// Products by Strassen's method are those of a plain product, whatever the sizes, scales and epilogues.
#include "kernels/cpu/strassen.h"

#include <limits>

#include "kernels/cpu/gemm.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/gemm_reference.h"

namespace tenon::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

class StrassenTest : public OnEveryIsa {
 protected:
  /// g, of which A is dense, with its B in sums.
  void run(Gemm g, const Numbers& b, int threads = 2) {
    ThreadPool pool(threads);
    g.b = {.data = b.data(), .k_stride = g.N, .n_stride = 1, .in_sums = true};
    g.a_stride = g.K;
    Numbers packed(packed_b_size(g.K, g.N, g.b)), scratch(gemm_scratch_size(g, threads), untouched);
    pack_b(g.K, g.N, g.b, packed.data(), pool);
    g.packed_b = packed.data();
    gemm(g, scratch.data(), pool);
  }
  Numbers product(long M, long N, long K, const Numbers& a, const Numbers& b, int threads = 2) {
    ThreadPool pool(threads);
    return product_of(M, N, K, a, {.data = b.data(), .k_stride = N, .in_sums = true}, pool);
  }
};
TENON_EVERY_ISA(StrassenTest);

TEST_P(StrassenTest, AnyShape) {
  for (const long M : {1, 2, 15, 28, 29}) {
    for (const long N : {1, 16, 33, 65, 129, 300}) {
      for (const long K : {2, 6, 32, 66, 130}) {
        const Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
        expect_equal({M, N, K, a, b, K}, product(M, N, K, a, b), N);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(StrassenTest, SeveralBlocksOfRows) {
  const long M = 1030, N = 40, K = 34;
  const Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
  expect_equal({M, N, K, a, b, K}, product(M, N, K, a, b), N);
}

// A depth whose half is cut, too, where partial sums wait in C.
TEST_P(StrassenTest, LargeDepth) {
  const long M = 20, N = 70, K = 2 * RowGemm::max_depth + 6;
  const Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
  expect_equal({M, N, K, a, b, K}, product(M, N, K, a, b), N);
}

TEST_P(StrassenTest, ColumnsOfALinearsWeight) {
  const long M = 30, N = 70, K = 66;
  const Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
  Numbers rows(N * K), packed(StrassenB::packed_size(K, N)), same(packed.size());
  for (long i = 0; i < N * K; i++) rows[i] = b[i % K * N + i / K];
  ThreadPool pool(2);
  StrassenB{K, N, b.data(), N, 1}.pack(packed.data(), pool);
  StrassenB{K, N, rows.data(), 1, K}.pack(same.data(), pool);
  EXPECT_EQ(packed, same);
}

void add_place(const void*, float* tile, long stride, long row0, long rows, long col0, long cols) {
  for (long r = 0; r < rows; r++)
    for (long c = 0; c < cols; c++) tile[r * stride + c] += static_cast<float>((row0 + r) * 3 + col0 + c);
}

// All of the epilogue, over the residual.
TEST_P(StrassenTest, EpilogueOfEachQuarter) {
  const long M = 31, N = 150, K = 40, stride = N + 3;
  const Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2), bias = random_numbers(N, 3);
  const Numbers residual = random_numbers(M * N, 4), added = random_numbers(M * N, 5);
  Numbers c(M * stride, untouched);
  for (long i = 0; i < M * N; i++) c[i / N * stride + i % N] = residual[i];
  run({.M = M,
       .N = N,
       .K = K,
       .a = a.data(),
       .c = c.data(),
       .c_stride = stride,
       .epilogue = {.bias = bias.data(),
                    .residual = c.data(),
                    .residual_stride = stride,
                    .activation = Activation::relu,
                    .hook = add_place,
                    .added = added.data(),
                    .added_stride = N},
       .first_row = 7},
      b);
  const Reference expected{M, N, K, a, b, K, &bias, &residual, true};
  for (long m = 0; m < M; m++)
    for (long n = 0; n < N; n++)
      ASSERT_NEAR(c[m * stride + n],
                  expected.at(m, n) + double{added[m * N + n]} + static_cast<double>((m + 7) * 3 + n), 1e-4)
          << m << "," << n;
  for (long m = 0; m < M; m++) EXPECT_EQ(c[m * stride + N], untouched) << "wrote past row " << m;
}

TEST_P(StrassenTest, TheSameBitsOnAnyNumberOfThreads) {
  const long M = 70, N = 700, K = 64;
  const Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
  EXPECT_EQ(product(M, N, K, a, b, 1), product(M, N, K, a, b, 3));
}

// A row is added to another one, and a column to another one: neither loses digits by that.
TEST_P(StrassenTest, RowsAndColumnsOfAnyScale) {
  const long M = 40, N = 140, K = 128;
  Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
  const auto scale_of = [](long i) {
    return std::array{1e-18f, 1.0f, 1e15f, 0x1p-40f, 0.0f}[std::size_t(i) % 5];
  };
  for (long i = 0; i < M * K; i++) a[i] *= scale_of(i / K);
  for (long i = 0; i < K * N; i++) b[i] *= scale_of(i % N + 2);
  const Numbers c = product(M, N, K, a, b);
  const Reference exact{M, N, K, a, b, K};
  for (long m = 0; m < M; m++)
    for (long n = 0; n < N; n++) {
      const double scale = double{scale_of(m)} * double{scale_of(n + 2)};
      ASSERT_NEAR(c[m * N + n], exact.at(m, n), 1e-5 * std::sqrt(K) * scale) << m << "," << n;
    }
}

// What is large in a row, and what it is multiplied by, and small terms beside a large one of other columns.
TEST_P(StrassenTest, FarApartTermsOfARow) {
  const long M = 41, N = 140, K = 512;
  const auto expect_exact = [&](const Numbers& a, const Numbers& b) {
    const Numbers c = product(M, N, K, a, b);
    const Reference exact{M, N, K, a, b, K};
    for (long m = 0; m < M; m++)
      for (long n = 0; n < N; n++) {
        double terms = 0;
        for (long k = 0; k < K; k++) terms += std::abs(double{a[m * K + k]} * double{b[k * N + n]});
        ASSERT_NEAR(c[m * N + n], exact.at(m, n), 4e-5 * terms) << m << "," << n;
      }
  };
  for (const float large : {1e3f, 1e6f, 1e25f})
    for (const float by : {0.0f, 1e-6f}) {
      Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
      for (long m = 0; m < M; m++) a[m * K + 7] = large;
      for (long n = 0; n < N; n++) b[7 * N + n] = by;
      expect_exact(a, b);
      for (long n = 0; n < N; n += 9) b[7 * N + n] = 1;  // of some columns
      expect_exact(a, b);
      Numbers zeros = random_numbers(M * K, 1);
      for (long m = 0; m < M; m++) zeros[m * K + 7] = m % 3 == 0 ? 1.0f : 0.0f;
      for (long n = 0; n < N; n++) b[7 * N + n] = n % 2 == 0 ? large : 0.5f;
      expect_exact(zeros, b);
    }
}

TEST_P(StrassenTest, RowsAndColumnsOfZerosStayZeros) {
  const long M = 37, N = 150, K = 66;
  Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
  const auto is_zero_row = [](long m) { return m == 0 || m == 5 || m == 36; };
  const auto is_zero_column = [](long n) { return n == 3 || n == 149; };
  for (long i = 0; i < M * K; i++)
    if (is_zero_row(i / K)) a[i] = 0;
  for (long i = 0; i < K * N; i++)
    if (is_zero_column(i % N)) b[i] = 0;
  const Numbers c = product(M, N, K, a, b);
  for (long i = 0; i < M * N; i++) ASSERT_EQ(c[i] == 0, is_zero_row(i / N) || is_zero_column(i % N)) << i;
}

// The root of the mean square error beside float64, of normal numbers, is up to twice that of a chain of
// multiply-adds.
TEST_P(StrassenTest, ErrorBesideAPlainProduct) {
  const long M = 64, N = 128, K = 768;
  const Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
  const Reference exact{M, N, K, a, b, K};
  const auto error = [&](const Numbers& c) {
    double sum = 0;
    for (long i = 0; i < M * N; i++) sum += std::pow(c[i] - exact.at(i / N, i % N), 2);
    return std::sqrt(sum);
  };
  ThreadPool pool(1);
  const Numbers plain = product_of(M, N, K, a, {.data = b.data(), .k_stride = N}, pool);
  EXPECT_LT(error(product(M, N, K, a, b)), 2 * error(plain));
}

// What is no number, and what is too large for sums, stays in its row: in this block of rows and the next.
TEST_P(StrassenTest, AnInfinityStaysInItsRow) {
  const long N = 40, K = 34;
  for (const long M : {40, 1030})
    for (const float value : {infinity, std::nanf(""), -3e38f}) {
      Numbers a = random_numbers(M * K, 1);
      const Numbers b = random_numbers(K * N, 2);
      const long row = M - 3;
      a[row * K + 5] = value;
      const Numbers residual = random_numbers(M * N, 3);
      Numbers c = residual;
      run({.M = M,
           .N = N,
           .K = K,
           .a = a.data(),
           .c = c.data(),
           .c_stride = N,
           .epilogue = {.residual = c.data(), .residual_stride = N}},
          b);
      const Reference exact{M, N, K, a, b, K, nullptr, &residual};
      for (long m = 0; m < M; m++)
        for (long n = 0; n < N; n++) {
          const double expected = exact.at(m, n);
          if (m == row && !std::isfinite(static_cast<float>(expected)))
            ASSERT_FALSE(std::isfinite(c[m * N + n])) << n;
          else
            ASSERT_NEAR(c[m * N + n], expected, 1e-4 * std::max(1.0, std::abs(expected))) << m << "," << n;
        }
    }
}

TEST_P(StrassenTest, AnInfinityOfTheWeightsStaysInItsColumn) {
  const long M = 20, N = 140, K = 64, column = 7;
  const Numbers a = random_numbers(M * K, 1);
  for (const float value : {infinity, -std::nanf(""), 0x1p101f}) {
    Numbers b = random_numbers(K * N, 2);
    b[5 * N + column] = value;
    const Numbers c = product(M, N, K, a, b);
    const Reference exact{M, N, K, a, b, K};
    for (long m = 0; m < M; m++)
      for (long n = 0; n < N; n++) {
        const double expected = exact.at(m, n);
        if (!std::isfinite(expected))
          ASSERT_FALSE(std::isfinite(c[m * N + n])) << m << "," << n;
        else
          ASSERT_NEAR(c[m * N + n], expected, 1e-4 * std::max(1.0, std::abs(expected))) << m << "," << n;
      }
  }
}

}  // namespace
}  // namespace tenon::cpu
