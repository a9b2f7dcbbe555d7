// Products of every type, shape and stride meet plain loops; integers wrap around.
#include "kernels/cpu/typed_product.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class TypedProducts : public OnEveryIsa {};
TENON_EVERY_ISA(TypedProducts);

struct Sizes {
  long M, N, K;
  bool a_transposed = false, b_transposed = false, bias = false;
  long batch = 1;
};

template <class T>
void check(const Sizes& s) {
  std::mt19937 generator(1);
  const auto random = [&](long count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& v : values) v = static_cast<T>(static_cast<int>(generator() % 2000) - 1000);
    return values;
  };
  const long a_gap = 3, c_gap = 2;  // between rows
  const long a_line = (s.a_transposed ? s.M : s.K) + a_gap, a_lines = s.a_transposed ? s.K : s.M;
  const std::vector<T> a = random(s.batch * a_lines * a_line), b = random(s.batch * s.K * s.N),
                       bias = random(s.N);
  const long c_row = s.N + c_gap;
  std::vector<T> c(static_cast<std::size_t>(s.batch * s.M * c_row), T{77});
  const TypedProduct<T> p{.M = s.M,
                          .N = s.N,
                          .K = s.K,
                          .a = a.data(),
                          .a_row = s.a_transposed ? 1 : a_line,
                          .a_column = s.a_transposed ? a_line : 1,
                          .b = b.data(),
                          .b_row = s.b_transposed ? 1 : s.N,
                          .b_column = s.b_transposed ? s.K : 1,
                          .c = c.data(),
                          .c_row = c_row,
                          .bias = s.bias ? bias.data() : nullptr,
                          .batch = s.batch,
                          .a_batch = a_lines * a_line,
                          .b_batch = s.K * s.N,
                          .c_batch = s.M * c_row};
  static ThreadPool pool(2);
  std::vector<std::byte> scratch(typed_product_scratch_size(p, 2));
  typed_product(p, scratch.data(), pool);
  for (long i = 0; i < s.batch; ++i)
    for (long m = 0; m < s.M; ++m)
      for (long n = 0; n < c_row; ++n) {
        const T got = c[static_cast<std::size_t>(i * p.c_batch + m * c_row + n)];
        if (n >= s.N) {
          ASSERT_EQ(got, T{77}) << "written beside the matrix";
          continue;
        }
        // Exact: the factors are whole numbers below 1000.
        std::int64_t want = s.bias ? static_cast<std::int64_t>(bias[static_cast<std::size_t>(n)]) : 0;
        for (long k = 0; k < s.K; ++k)
          want += static_cast<std::int64_t>(
                      a[static_cast<std::size_t>(i * p.a_batch + m * p.a_row + k * p.a_column)]) *
                  static_cast<std::int64_t>(
                      b[static_cast<std::size_t>(i * p.b_batch + k * p.b_row + n * p.b_column)]);
        const auto difference = static_cast<double>(got) - static_cast<double>(want);
        ASSERT_LE(std::abs(difference),
                  sizeof(T) == 4 && static_cast<T>(0.5) != 0 ? 64.0 * static_cast<double>(s.K) : 0)
            << s.M << "x" << s.N << "x" << s.K << " at " << m << ", " << n;
      }
}

template <class T>
void check_all() {
  for (const long M : {1, 2, 3, 4, 5, 12, 13, 31})
    for (const long N : {1, 2, 7, 16, 33, 67})
      for (const long K : {1, 3, 16, 33, 129, 300})
        for (const bool transposed : {false, true})
          for (const bool bias : {false, true}) {
            check<T>({.M = M, .N = N, .K = K, .b_transposed = transposed, .bias = bias});
            if (!bias)
              check<T>(
                  {.M = M, .N = N, .K = K, .a_transposed = true, .b_transposed = transposed, .batch = 2});
          }
  check<T>({.M = 14, .N = 300, .K = 20});
  check<T>({.M = 21, .N = 200, .K = 80, .batch = 2});  // small, but its columns pass by in parts
  for (const long M : {479, 480, 1003}) check<T>({.M = M, .N = 9, .K = 12, .bias = true});
}

TEST_P(TypedProducts, Float64) { check_all<double>(); }
TEST_P(TypedProducts, Float32) { check_all<float>(); }
TEST_P(TypedProducts, Int32) { check_all<std::int32_t>(); }
TEST_P(TypedProducts, Int64) { check_all<std::int64_t>(); }

TEST_P(TypedProducts, IntegersWrapAround) {
  const std::vector<std::int32_t> a(40, 1 << 20), b(40 * 40, 1 << 12);
  std::vector<std::int32_t> c(40);
  const TypedProduct<std::int32_t> p{.M = 1,
                                     .N = 40,
                                     .K = 40,
                                     .a = a.data(),
                                     .a_row = 40,
                                     .b = b.data(),
                                     .b_row = 40,
                                     .c = c.data(),
                                     .c_row = 40};
  ThreadPool pool(1);
  std::vector<std::byte> scratch(typed_product_scratch_size(p, 1));
  typed_product(p, scratch.data(), pool);
  EXPECT_EQ(c, std::vector<std::int32_t>(40, 0));
}

}  // namespace
}  // namespace tenon::cpu
