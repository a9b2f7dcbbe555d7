// Products of integers are exact modulo 2^32, whatever the range of A.
#include "kernels/cpu/integer_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class IntegerGemmTest : public OnEveryIsa {};
TENON_EVERY_ISA(IntegerGemmTest);

struct Case {
  std::int64_t low, high;  // of A
  DType type;              // of B's codes
  bool has_zeros;
};

TEST_P(IntegerGemmTest, IsExact) {
  constexpr Case cases[] = {{0, 255, DType::i8, false},
                            {-128, 127, DType::u8, true},
                            {-30000, 30000, DType::i8, true},
                            {INT32_MIN, INT32_MAX, DType::u8, false}};
  ThreadPool pool(2);
  std::mt19937_64 engine(1);
  for (const Case& kind : cases)
    for (const long M : {1, 2, 3, 5, 17})
      for (const long N : {1, 31, 32, 150})
        for (const long K : {1, 4, 7, 64, 333}) {
          const auto draw = [&](std::int64_t low, std::int64_t high) {
            return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
          };
          std::vector<std::int32_t> a, c(static_cast<std::size_t>(M * (N + 1)), 7);
          std::vector<std::uint8_t> codes;
          std::vector<std::int16_t> zeros;
          std::vector<std::int64_t> rows, columns;
          for (long i = 0; i < M * (K + 2); i++)
            a.push_back(static_cast<std::int32_t>(draw(kind.low, kind.high)));
          for (long i = 0; i < K * N; i++) codes.push_back(static_cast<std::uint8_t>(draw(0, 255)));
          for (long n = 0; n < N; n++) zeros.push_back(static_cast<std::int16_t>(draw(-128, 255)));
          for (long n = 0; n < N; n++) columns.push_back(n);
          for (long k = 0; k < K; k++) rows.push_back(k * N);
          const QuantizedB b{.codes = codes.data(),
                             .type = kind.type,
                             .k_offsets = rows.data(),
                             .n_offsets = columns.data(),
                             .zeros = kind.has_zeros ? zeros.data() : nullptr};
          std::vector<float> packed(static_cast<std::size_t>(packed_integers_size(K, N)));
          pack_integers(K, N, b, packed.data(), pool);
          const IntegerGemm g{.M = M,
                              .N = N,
                              .K = K,
                              .a = a.data(),
                              .a_stride = K + 2,
                              .packed_b = packed.data(),
                              .c = c.data(),
                              .c_stride = N + 1};
          std::vector<float> scratch(static_cast<std::size_t>(integer_scratch_size(g.M, g.N, g.K)));
          integer_gemm(g, scratch.data(), pool);
          for (long m = 0; m < M; m++) {
            for (long n = 0; n < N; n++) {
              std::uint32_t expected = 0;
              for (long k = 0; k < K; k++) {
                const std::uint8_t byte = codes[static_cast<std::size_t>(k * N + n)];
                const int code = kind.type == DType::i8 ? static_cast<std::int8_t>(byte) : byte;
                const int number = code - (kind.has_zeros ? zeros[static_cast<std::size_t>(n)] : 0);
                expected += static_cast<std::uint32_t>(a[static_cast<std::size_t>(m * (K + 2) + k)]) *
                            static_cast<std::uint32_t>(number);
              }
              ASSERT_EQ(static_cast<std::uint32_t>(c[static_cast<std::size_t>(m * (N + 1) + n)]), expected)
                  << M << " x " << N << " x " << K << " at " << m << "," << n;
            }
            ASSERT_EQ(c[static_cast<std::size_t>(m * (N + 1) + N)], 7) << "wrote past row " << m;
          }
        }
}

// Floats that stand for integers, from -100 to 155 times a scale.
TEST_P(IntegerGemmTest, OfNumbersOnAGrid) {
  ThreadPool pool(2);
  std::mt19937 engine(2);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); };
  for (const long M : {1, 4, 30})
    for (const long N : {1, 33, 150})
      for (const long K : {1, 30, 333}) {
        const float scale = 0.037F;
        std::vector<float> a, scales, bias, c(static_cast<std::size_t>(M * N));
        std::vector<std::uint8_t> codes;
        std::vector<std::int16_t> zeros;
        std::vector<std::int64_t> rows, columns;
        for (long i = 0; i < M * K; i++) a.push_back(static_cast<float>(draw(-100, 155)) * scale);
        for (long i = 0; i < K * N; i++) codes.push_back(static_cast<std::uint8_t>(draw(0, 255)));
        for (long n = 0; n < N; n++) {
          scales.push_back(static_cast<float>(draw(1, 100)) / 4096);
          zeros.push_back(static_cast<std::int16_t>(draw(0, 255)));
          bias.push_back(static_cast<float>(draw(-100, 100)));
          columns.push_back(n);
        }
        for (long k = 0; k < K; k++) rows.push_back(k * N);
        std::vector<float> packed(static_cast<std::size_t>(packed_integers_size(K, N)));
        pack_integers(K, N,
                      {codes.data(), DType::u8, rows.data(), columns.data(), scales.data(), zeros.data()},
                      packed.data(), pool);
        const GridGemm g{.M = M,
                         .N = N,
                         .K = K,
                         .a = a.data(),
                         .a_stride = K,
                         .a_scale = scale,
                         .least = -100,
                         .packed_b = packed.data(),
                         .c = c.data(),
                         .c_stride = N,
                         .epilogue = {.bias = bias.data()}};
        std::vector<float> scratch(static_cast<std::size_t>(integer_scratch_size(g.M, g.N, g.K)));
        grid_gemm(g, scratch.data(), pool);
        for (long i = 0; i < M * N; i++) {
          const auto n = static_cast<std::size_t>(i % N);
          double expected = 0, size = 1;
          for (long k = 0; k < K; k++) {
            const int code = codes[static_cast<std::size_t>(k * N + i % N)] - zeros[n];
            const double term = double{a[static_cast<std::size_t>(i / N * K + k)]} * code * double{scales[n]};
            expected += term;
            size += std::abs(term);
          }
          ASSERT_NEAR(c[static_cast<std::size_t>(i)], expected + double{bias[n]}, 1e-6 * size + 1e-4);
        }
      }
}

}  // namespace
}  // namespace tenon::cpu
