// Matrix products of any shape, stride and epilogue equal a plain double-precision loop.
#include "kernels/cpu/gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include "base/half.h"
#include "kernels/cpu/rounded_rows.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/gemm_reference.h"

namespace tenon::cpu {
namespace {

class GemmTest : public OnEveryIsa {
 protected:
  // With B packed before, and packed while it is used: the same bits.
  void multiply(Gemm g, const MatrixB& b) {
    const auto size = (g.M - 1) * g.c_stride + g.N;
    const std::vector<float> before(g.c, g.c + size);  // the residual may be C itself
    const Numbers p = packed(g.K, g.N, b);
    g.packed_b = p.data();
    gemm(g, nullptr, pool_);
    const std::vector<float> expected(g.c, g.c + size);
    std::copy(before.begin(), before.end(), g.c);
    g.packed_b = nullptr;
    g.b = b;
    Numbers scratch(gemm_scratch_size(g, pool_.threads()));
    gemm(g, scratch.data(), pool_);
    ASSERT_EQ(std::memcmp(expected.data(), g.c, expected.size() * sizeof(float)), 0);
  }
  Numbers packed(long K, long N, const MatrixB& b) {
    Numbers p(packed_b_size(K, N));
    pack_b(K, N, b, p.data(), pool_);
    return p;
  }
  ThreadPool pool_{2};
};
TENON_EVERY_ISA(GemmTest);

TEST_P(GemmTest, AnyShape) {
  for (const long M : {1, 2, 3, 4, 5, 6, 7, 11, 13, 14, 15, 28, 29, 33, 131, 500}) {
    for (const long N : {1, 2, 3, 5, 8, 16, 31, 32, 33, 64, 129}) {
      for (const long K : {1, 2, 7, 16, 65, 300}) {
        const Numbers a = random_numbers(M * (K + 3), 1);
        const Numbers b = random_numbers(K * N, 2);
        const Numbers bias = random_numbers(N, 3);
        Numbers c(M * (N + 2), untouched);
        multiply({.M = M,
                  .N = N,
                  .K = K,
                  .a = a.data(),
                  .a_stride = K + 3,
                  .c = c.data(),
                  .c_stride = N + 2,
                  .epilogue = {.bias = bias.data()}},
                 {b.data(), N, 1});
        expect_equal({M, N, K, a, b, K + 3, &bias}, c, N + 2);
      }
    }
  }
}

TEST_P(GemmTest, VeryLargeDepth) {
  for (const long K : {4097, 10000}) {
    for (const long M : {1, 9, 40}) {
      const long N = 140;
      const Numbers a = random_numbers(M * K, 1);
      const Numbers b = random_numbers(K * N, 2);
      const Numbers residual = random_numbers(M * N, 3);
      Numbers c(M * N, untouched);
      multiply(
          {.M = M,
           .N = N,
           .K = K,
           .a = a.data(),
           .a_stride = K,
           .c = c.data(),
           .c_stride = N,
           .epilogue = {.residual = residual.data(), .residual_stride = N, .activation = Activation::relu}},
          {b.data(), N, 1});
      expect_equal({M, N, K, a, b, K, nullptr, &residual, true}, c, N);
    }
  }
}

// They would meet in one set of the cache: they are read from a copy.
TEST_P(GemmTest, RowsAMultipleOfAPageApart) {
  for (const long stride : {1024, 4096})
    for (const long K : {stride, stride - 3})
      for (const long M : {8, 9, 150}) {
        const long N = 140;
        const Numbers a = random_numbers(M * stride, 1), b = random_numbers(K * N, 2);
        const Numbers residual = random_numbers(M * N, 3);
        Numbers c = residual;
        multiply({.M = M,
                  .N = N,
                  .K = K,
                  .a = a.data(),
                  .a_stride = stride,
                  .c = c.data(),
                  .c_stride = N,
                  .epilogue = {.residual = c.data(), .residual_stride = N}},
                 {b.data(), N, 1});
        expect_equal({M, N, K, a, b, stride, nullptr, &residual}, c, N);
      }
}

TEST_P(GemmTest, AddsTheRowsThatAreNamed) {
  for (const auto& [N, K] : {std::pair{5L, 7L}, {64L, 7L}, {140L, 7L}, {1L, 50L}, {3L, 50L}, {4L, 50L}}) {
    const long M = 29, table_rows = 4;
    const Numbers a = random_numbers(M * K, 1);
    const Numbers b = random_numbers(K * N, 2);
    const Numbers table = random_numbers(table_rows * N, 3);
    std::vector<long> rows;
    Numbers residual(M * N);
    for (long m = 0; m < M; m++) {
      rows.push_back(m * 7 % table_rows);
      for (long n = 0; n < N; n++) residual[m * N + n] = table[rows.back() * N + n];
    }
    Numbers c(M * N, untouched);
    multiply({.M = M,
              .N = N,
              .K = K,
              .a = a.data(),
              .a_stride = K,
              .c = c.data(),
              .c_stride = N,
              .epilogue = {.residual = table.data(), .residual_stride = N, .residual_rows = rows.data()}},
             {b.data(), N, 1});
    expect_equal({M, N, K, a, b, K, nullptr, &residual}, c, N);
  }
}

TEST_P(GemmTest, PacksLinearWeightsAndAnyStrides) {
  for (const long N : {2, 37}) {
    const long M = 9, K = 50;
    const Numbers a = random_numbers(M * K, 1);
    const Numbers b = random_numbers(K * N, 2);
    Numbers transposed(K * N);
    Numbers spread(K * N * 3);
    for (long k = 0; k < K; k++) {
      for (long n = 0; n < N; n++) {
        transposed[n * K + k] = b[k * N + n];
        spread[(n * K + k) * 3] = b[k * N + n];
      }
    }
    for (const MatrixB& view : {MatrixB{transposed.data(), 1, K}, MatrixB{spread.data(), 3, 3 * K}}) {
      Numbers c(M * N, untouched);
      multiply({.M = M, .N = N, .K = K, .a = a.data(), .a_stride = K, .c = c.data(), .c_stride = N}, view);
      expect_equal({M, N, K, a, b, K}, c, N);
    }
  }
}

// A hook that adds 1000 * row + col, so that every element shows that it was called once with its own place.
void add_place(const void* calls, float* tile, long stride, long row0, long rows, long col0, long cols) {
  ASSERT_EQ(*static_cast<const int*>(calls), 42);
  for (long r = 0; r < rows; r++) {
    for (long c = 0; c < cols; c++) {
      tile[r * stride + c] += static_cast<float>(1000 * (row0 + r) + col0 + c);
    }
  }
}

TEST_P(GemmTest, HookSeesEveryElementOnceAfterBiasResidualAndRelu) {
  constexpr int context = 42;
  for (const long M : {1, 3, 7, 29, 60}) {
    for (const long N : {3, 16, 70, 200}) {
      const long K = M == 3 ? 3000 : 40;  // many enough that B is packed in several parts
      const Numbers a = random_numbers(M * K, 1);
      const Numbers b = random_numbers(K * N, 2);
      const Numbers bias = random_numbers(N, 3);
      const Numbers residual = random_numbers(M * N, 4);
      Numbers c(M * N, untouched);
      multiply({.M = M,
                .N = N,
                .K = K,
                .a = a.data(),
                .a_stride = K,
                .c = c.data(),
                .c_stride = N,
                .epilogue = {bias.data(), residual.data(), N, Activation::relu, add_place, &context}},
               {b.data(), N, 1});
      const Reference expected{M, N, K, a, b, K, &bias, &residual, true};
      for (long m = 0; m < M; m++) {
        for (long n = 0; n < N; n++) {
          ASSERT_NEAR(c[m * N + n], expected.at(m, n) + static_cast<double>(1000 * m + n), 1e-2)
              << m << "," << n;
        }
      }
    }
  }
}

// Also where the sums of a long K are kept in the result between blocks of K.
TEST_P(GemmTest, ResidualMayBeTheResultItself) {
  for (const long K : {30, 5000}) {
    const long M = 20, N = 50;
    const Numbers a = random_numbers(M * K, 1);
    const Numbers b = random_numbers(K * N, 2);
    const Numbers before = random_numbers(M * N, 3);
    Numbers c = before;
    multiply({.M = M,
              .N = N,
              .K = K,
              .a = a.data(),
              .a_stride = K,
              .c = c.data(),
              .c_stride = N,
              .epilogue = {.residual = c.data(), .residual_stride = N, .activation = Activation::relu}},
             {b.data(), N, 1});
    expect_equal({M, N, K, a, b, K, nullptr, &before, true}, c, N);
  }
}

TEST_P(GemmTest, ReluKeepsNaN) {
  const Numbers a = {std::numeric_limits<float>::quiet_NaN(), -1.0f};
  const Numbers b(16 + 3, 1.0f);
  Numbers c(2 * 19);
  multiply({.M = 2,
            .N = 19,
            .K = 1,
            .a = a.data(),
            .a_stride = 1,
            .c = c.data(),
            .c_stride = 19,
            .epilogue = {.activation = Activation::relu}},
           {b.data(), 19, 1});
  for (long n = 0; n < 19; n++) {
    EXPECT_TRUE(std::isnan(c[n]));
    EXPECT_EQ(c[19 + n], 0.0f);
  }
}

TEST_P(GemmTest, BatchedWithRunTimeB) {
  for (const long batch : {1, 3, 9}) {
    for (const long N : {10, 32, 64}) {
      for (const long M : {1, 17, 130}) {
        const long K = 33;
        const Numbers a = random_numbers(batch * M * K, 1);
        const Numbers b = random_numbers(batch * K * N, 2);
        const Numbers residual = random_numbers(batch * M * N, 3);
        Numbers c(batch * M * N, untouched);
        const BatchedGemm g{.batch = batch,
                            .one = {.M = M,
                                    .N = N,
                                    .K = K,
                                    .a = a.data(),
                                    .a_stride = K,
                                    .b = {b.data(), N, 1},
                                    .c = c.data(),
                                    .c_stride = N,
                                    .epilogue = {.residual = residual.data(), .residual_stride = N}},
                            .a_batch_stride = M * K,
                            .b_batch_stride = K * N,
                            .c_batch_stride = M * N};
        Numbers scratch(batched_gemm_scratch_size(g, pool_.threads()));
        batched_gemm(g, scratch.data(), pool_);
        for (long i = 0; i < batch; i++) {
          const Numbers ai = a.from(i * M * K);
          const Numbers bi = b.from(i * K * N);
          const Numbers ri = residual.from(i * M * N);
          expect_equal({M, N, K, ai, bi, K, nullptr, &ri}, c.from(i * M * N), N);
        }
      }
    }
  }
}

std::vector<std::uint16_t> halves_of(const Numbers& numbers) {
  std::vector<std::uint16_t> halves;
  for (long i = 0; i < numbers.size(); i++) halves.push_back(BFloat16(numbers[i]).bits);
  return halves;
}

// Each side in memory as bfloat16, or as floats that are such numbers; the result rounded, or not.
TEST_P(GemmTest, BatchedOfBfloat16) {
  for (const long batch : {1, 5})
    for (const long N : {31, 64})
      for (const long K : {1, 33, 64})
        for (const bool transposed : {false, true}) {
          const long M = 17;
          const Numbers a = coarse_numbers(batch * M * K, 1), b = coarse_numbers(batch * K * N, 2);
          const auto a_halves = halves_of(a), b_halves = halves_of(b);
          Numbers c(batch * M * N, untouched);
          BatchedGemm g{.batch = batch,
                        .one = {.M = M,
                                .N = N,
                                .K = K,
                                .a = a.data(),
                                .a_stride = K,
                                .a_is_bf16 = true,
                                .b = {b.data(), transposed ? 1 : N, transposed ? K : 1, DType::bf16, true},
                                .c = c.data(),
                                .c_stride = N},
                        .a_batch_stride = M * K,
                        .b_batch_stride = K * N,
                        .c_batch_stride = M * N};
          Numbers scratch(batched_gemm_scratch_size(g, pool_.threads()));
          const auto run = [&] { batched_gemm(g, scratch.data(), pool_); };
          run();
          for (long i = 0; i < batch; i++) {
            Numbers right(K * N);
            for (long k = 0; k < K; k++)
              for (long n = 0; n < N; n++)
                right[k * N + n] = b[i * K * N + k * g.one.b.k_stride + n * g.one.b.n_stride];
            expect_equal({M, N, K, a.from(i * M * K), right, K}, c.from(i * M * N), N);
          }
          const Numbers expected = c;
          g.one.a_halves = a_halves.data();
          run();
          EXPECT_EQ(c, expected);
          g.one.b.data = b_halves.data();
          g.one.b.is_widened = false;
          run();
          EXPECT_EQ(c, expected);
          std::vector<std::uint16_t> c_halves(static_cast<std::size_t>(c.size()));
          g.one.c_halves = c_halves.data();
          run();
          EXPECT_EQ(c_halves, halves_of(expected));
          g.one.a_halves = nullptr;
          std::fill(c_halves.begin(), c_halves.end(), std::uint16_t{0});
          run();
          EXPECT_EQ(c_halves, halves_of(expected));
        }
}

// With a B that stays in the L1 cache, packed; plain, and added to rows of a residual before one rounding.
TEST_P(GemmTest, BatchedByASmallBOfBfloat16) {
  for (const long batch : {1, 7})
    for (const auto& [M, N, K] : {std::tuple{8L, 8L, 8L},
                                  {1L, 1L, 1L},
                                  {3L, 17L, 5L},
                                  {13L, 16L, 2L},
                                  {25L, 33L, 7L},
                                  {5L, 64L, 64L},
                                  {64L, 5L, 33L},
                                  {128L, 129L, 64L}})
      for (const bool transposed : {false, true})
        for (const bool adds : {false, true}) {
          const bool same_b = adds;
          const long a_stride = K + 1, c_stride = N + 3;
          const Numbers a = coarse_numbers(batch * M * a_stride, 1), b = coarse_numbers(batch * K * N, 2);
          const auto a_halves = halves_of(a), b_halves = halves_of(b);
          std::vector<std::uint16_t> c(static_cast<std::size_t>(batch * M * c_stride), 7);
          const long residual_stride = N + 1;
          const Numbers residual = coarse_numbers(batch * M * residual_stride, 3);
          const auto residual_halves = halves_of(residual);
          const RoundedRows rounding{.to = RoundedRows::To::bf16,
                                     .activation = adds ? Activation::relu : Activation::none,
                                     .adds = adds,
                                     .adds_to_sum = true,
                                     .residual_is_half = true};
          BatchedGemm g{.batch = batch,
                        .one = {.M = M,
                                .N = N,
                                .K = K,
                                .a_stride = a_stride,
                                .a_halves = a_halves.data(),
                                .b = {b_halves.data(), transposed ? 1 : N, transposed ? K : 1, DType::bf16},
                                .c_halves = c.data(),
                                .c_stride = c_stride,
                                .epilogue = {.rounded = &rounding,
                                             .rounded_residual = adds ? residual_halves.data() : nullptr,
                                             .rounded_residual_stride = residual_stride}},
                        .a_batch_stride = M * a_stride,
                        .b_batch_stride = same_b ? 0 : K * N,
                        .c_batch_stride = M * c_stride};
          Numbers scratch(batched_gemm_scratch_size(g, pool_.threads()));
          batched_gemm(g, scratch.data(), pool_);
          for (long i = 0; i < batch; i++) {
            Numbers right(K * N);
            for (long k = 0; k < K; k++)
              for (long n = 0; n < N; n++)
                right[k * N + n] = b[i * g.b_batch_stride + k * g.one.b.k_stride + n * g.one.b.n_stride];
            const Numbers left = a.from(i * M * a_stride);
            const Reference expected{M, N, K, left, right, a_stride};
            for (long m = 0; m < M; m++)
              for (long n = 0; n < c_stride; n++) {
                const std::uint16_t found = c[static_cast<std::size_t>((i * M + m) * c_stride + n)];
                if (n >= N) {
                  ASSERT_EQ(found, 7);
                  continue;
                }
                double wanted = expected.at(m, n);
                if (adds)
                  wanted = std::max(0.0, wanted + double{residual[(i * M + m) * residual_stride + n]});
                ASSERT_NEAR(float(std::bit_cast<BFloat16>(found)), wanted, 1e-5 + std::abs(wanted) / 256)
                    << M << "x" << N << "x" << K << " at " << m << ", " << n;
              }
          }
        }
}

// What is done with the sums of a tile of pairs in registers is what finish_rounded does with them in memory.
TEST_P(GemmTest, TilesOfBfloat16RoundAsRowsDo) {
  const long M = 31, N = 75, K = 12;
  const Numbers a = coarse_numbers(M * K, 1), b = coarse_numbers(K * N, 2), bias = random_numbers(N, 3);
  const Numbers residual = coarse_numbers(M * N, 4);
  const auto a_halves = halves_of(a), residual_halves = halves_of(residual);
  Gemm g{.M = M,
         .N = N,
         .K = K,
         .a_stride = K,
         .a_halves = a_halves.data(),
         .b = {b.data(), N, 1, DType::bf16, true},
         .c_stride = N,
         .epilogue = {.bias = bias.data()}};
  Numbers p(packed_b_size(K, N, DType::bf16));
  pack_b(K, N, g.b, p.data(), pool_);
  g.packed_b = p.data();
  Numbers sums(M * N);
  g.c = sums.data();
  gemm(g, nullptr, pool_);
  std::vector<long> rows;
  for (long m = 0; m < M; m++) rows.push_back(m * N);
  for (const Activation& activation :
       {Activation::none, Activation::relu, Activation{Activation::Kind::clamp, -0.5f, 0.75f},
        Activation{Activation::Kind::hardswish}, Activation{Activation::Kind::tanh}})
    for (int flags = 0; flags < 32; ++flags) {
      const RoundedRows how{.to = RoundedRows::To::bf16,
                            .activation = activation,
                            .adds = (flags & 1) != 0,
                            .adds_to_sum = (flags & 2) != 0,
                            .rounds_sum = (flags & 4) != 0,
                            .rounds_result = (flags & 8) != 0,
                            .residual_is_half = (flags & 16) != 0};
      const void* const added = how.residual_is_half ? static_cast<const void*>(residual_halves.data())
                                                     : static_cast<const void*>(residual.data());
      g.epilogue.rounded = &how;
      g.epilogue.rounded_residual = how.adds ? added : nullptr;
      g.epilogue.rounded_residual_stride = N;
      for (const bool to_halves : {false, true}) {
        Numbers expected = sums, found(M * N);
        std::vector<std::uint16_t> expected_halves(static_cast<std::size_t>(M * N)), halves(expected_halves);
        finish_rounded(how, {.sums = expected.data(),
                             .sums_rows = rows.data(),
                             .residual = g.epilogue.rounded_residual,
                             .residual_rows = rows.data(),
                             .halves = to_halves ? expected_halves.data() : nullptr,
                             .halves_rows = rows.data(),
                             .rows = M,
                             .cols = N});
        g.c = found.data();
        g.c_halves = to_halves ? halves.data() : nullptr;
        gemm(g, nullptr, pool_);
        if (to_halves)
          ASSERT_EQ(halves, expected_halves) << "flags " << flags;
        else
          ASSERT_EQ(found, expected) << "flags " << flags;
      }
    }
}

TEST_P(GemmTest, SameNumbersForAnyNumberOfThreads) {
  const long M = 75, N = 200, K = 129;
  const Numbers a = random_numbers(M * K, 1);
  const Numbers b = random_numbers(K * N, 2);
  const Numbers p = packed(K, N, {b.data(), N, 1});
  const auto with_threads = [&](int threads) {
    ThreadPool pool(threads);
    Numbers c(M * N);
    gemm({.M = M,
          .N = N,
          .K = K,
          .a = a.data(),
          .a_stride = K,
          .packed_b = p.data(),
          .c = c.data(),
          .c_stride = N},
         nullptr, pool);
    return c;
  };
  EXPECT_EQ(with_threads(1), with_threads(3));
}

}  // namespace
}  // namespace tenon::cpu
