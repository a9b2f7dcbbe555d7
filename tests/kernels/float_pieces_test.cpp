// Products of float32 in pieces of bfloat16 are as exact as those of float32, whatever the numbers.
#include "kernels/cpu/float_pieces.h"

#include <limits>

#include "kernels/cpu/gemm.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/gemm_reference.h"

namespace tenon::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float largest = std::numeric_limits<float>::max();

class FloatPiecesTest : public OnEveryIsa {
 protected:
  void SetUp() override {
    if (!runs_float_pieces()) GTEST_SKIP() << "no matrix unit";
  }
  /// a [M, K] by b [K, N], with b in pieces or as it is.
  Numbers product(long M, long N, long K, const Numbers& a, const Numbers& b, bool in_pieces = true) {
    return product_of(M, N, K, a, {.data = b.data(), .k_stride = N, .in_pieces = in_pieces}, pool_);
  }
  ThreadPool pool_{2};
};
TENON_EVERY_ISA(FloatPiecesTest);

TEST_P(FloatPiecesTest, AnyShape) {
  for (const long M : {1, 15, 16, 17, 33, 70}) {
    for (const long N : {1, 16, 31, 33, 129}) {
      for (const long K : {1, 2, 31, 32, 65, 300}) {
        const Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
        expect_equal({M, N, K, a, b, K}, product(M, N, K, a, b), N);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A depth that is cut into blocks, where the sums wait in C.
TEST_P(FloatPiecesTest, LargeDepth) {
  const long M = 40, N = 70;
  for (const long K : {1025, 5000}) {
    const Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
    expect_equal({M, N, K, a, b, K}, product(M, N, K, a, b), N);
  }
}

// Beside float64, the sum of squares of the errors is less than that of a chain of multiply-adds.
TEST_P(FloatPiecesTest, MoreExactThanFloats) {
  const long M = 64, N = 64, K = 768;
  for (const bool is_positive : {false, true}) {
    Numbers a = random_numbers(M * K, 1), b = random_numbers(K * N, 2);
    for (Numbers* numbers : {&a, &b})
      for (long i = 0; is_positive && i < numbers->size(); i++) (*numbers)[i] = std::abs((*numbers)[i]);
    const Reference exact{M, N, K, a, b, K};
    const auto error = [&](bool in_pieces) {
      const Numbers c = product(M, N, K, a, b, in_pieces);
      double sum = 0;
      for (long i = 0; i < M * N; i++) sum += std::pow(c[i] - exact.at(i / N, i % N), 2);
      return sum;
    };
    EXPECT_LT(error(true), error(false)) << "positive numbers: " << is_positive;
  }
}

// An infinity by a piece that is zero would be NaN, and the largest numbers have no neighbour in bfloat16.
TEST_P(FloatPiecesTest, InfinitiesAndTheLargestNumbers) {
  const long M = 34, N = 40, K = 40;
  Numbers a = random_numbers(M * K, 1), b(K * N);
  for (long k = 0; k < K; k++) b[k * N + k] = 1;  // the identity
  a[0 * K + 3] = infinity, a[5 * K + 4] = -infinity, a[9 * K + 5] = std::nanf(""), a[12 * K + 6] = largest;
  a[33 * K + 7] = -largest;
  const Numbers c = product(M, N, K, a, b);
  for (long m = 0; m < M; m++) {
    for (long n = 0; n < N; n++) {
      float expected = a[m * K + n];  // an infinity by the zeros of other columns is NaN
      for (long k = 0; k < K; k++)
        if (k != n && !std::isfinite(a[m * K + k])) expected = std::nanf("");
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(c[m * N + n])) << m << "," << n;
      else
        EXPECT_EQ(c[m * N + n], expected) << m << "," << n;
    }
  }
}

// The unit takes subnormal numbers for zero: rows of small numbers are multiplied without it.
TEST_P(FloatPiecesTest, SmallRows) {
  const long M = 40, N = 64, K = 128;
  Numbers a = random_numbers(M * K, 1);
  const Numbers b = random_numbers(K * N, 2);
  const auto scale_of = [](long m) { return m % 3 == 0 ? 1e-36f : m % 3 == 1 ? 1e-16f : 1.0f; };
  for (long i = 0; i < M * K; i++) a[i] *= scale_of(i / K);
  const Numbers c = product(M, N, K, a, b);
  const Reference exact{M, N, K, a, b, K};
  for (long m = 0; m < M; m++)
    for (long n = 0; n < N; n++)
      ASSERT_NEAR(c[m * N + n] / scale_of(m), exact.at(m, n) / double{scale_of(m)}, 1e-5) << m << "," << n;
}

// What is no number changes no other number of its row's neighbours.
TEST_P(FloatPiecesTest, AnInfinityChangesNoOtherRow) {
  const long M = 40, N = 64, K = 128;
  Numbers a = random_numbers(M * K, 1);
  const Numbers b = random_numbers(K * N, 2), before = product(M, N, K, a, b);
  a[5 * K] = infinity;
  const Numbers c = product(M, N, K, a, b);
  for (long i = 0; i < M * N; i++) {
    if (i / N == 5) continue;
    ASSERT_EQ(c[i], before[i]) << i;
  }
}

TEST_P(FloatPiecesTest, SmallColumnsDoNotFit) {
  Numbers b = random_numbers(128 * 64, 1);
  const MatrixB rows{.data = b.data(), .k_stride = 64, .n_stride = 1};
  const MatrixB columns{.data = b.data(), .k_stride = 1, .n_stride = 128};
  EXPECT_TRUE(fits_pieces(128, 64, rows));
  for (long k = 0; k < 128; k++) b[k * 64 + 7] = 1e-20f;
  EXPECT_FALSE(fits_pieces(128, 64, rows));
  for (long k = 0; k < 128; k++) b[k * 64 + 7] = 0;
  EXPECT_TRUE(fits_pieces(128, 64, rows));
  EXPECT_TRUE(fits_pieces(128, 64, columns));
}

}  // namespace
}  // namespace tenon::cpu
