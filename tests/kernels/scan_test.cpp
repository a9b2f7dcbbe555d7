// Running sums and products of every type, by lines and by columns.
#include "kernels/cpu/scan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace tenon::cpu {
namespace {

template <class T>
void check(DType dtype, bool multiplies, long outer, long length, long inner) {
  std::vector<T> x(static_cast<std::size_t>(outer * length * inner)), y(x.size() + 1, T{9});
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(multiplies ? 1 - 2 * static_cast<int>(i % 3 == 0) : static_cast<int>(i % 11) - 5);
  static ThreadPool pool(2);
  scan({.multiplies = multiplies,
        .dtype = dtype,
        .outer = outer,
        .length = length,
        .inner = inner,
        .x = x.data(),
        .y = y.data()},
       pool);
  ASSERT_EQ(y.back(), T{9});
  for (long o = 0; o < outer; ++o)
    for (long c = 0; c < inner; ++c) {
      T run = multiplies ? T{1} : T{0};
      for (long i = 0; i < length; ++i) {
        const auto at = static_cast<std::size_t>((o * length + i) * inner + c);
        run = multiplies ? run * x[at] : run + x[at];
        ASSERT_EQ(y[at], run) << o << " " << i << " " << c;
      }
    }
}

TEST(Scans, EveryShapeAndType) {
  for (const bool multiplies : {false, true})
    for (const long outer : {1, 7, 8, 19})
      for (const long length : {1, 2, 33})
        for (const long inner : {1, 3, 64, 65, 130}) {
          check<float>(DType::f32, multiplies, outer, length, inner);
          check<double>(DType::f64, multiplies, outer, length, inner);
          check<std::int32_t>(DType::i32, multiplies, outer, length, inner);
          check<std::int64_t>(DType::i64, multiplies, outer, length, inner);
        }
}

TEST(Scans, FloatsAreFoldedInDouble) {
  const std::vector<float> x = {1e8F, 1, 1, 1, 1, 1, 1, 1, 1, -1e8F};
  std::vector<float> y(x.size());
  ThreadPool pool(1);
  scan({.length = 10, .x = x.data(), .y = y.data()}, pool);
  EXPECT_EQ(y.back(), 8.0F);
}

}  // namespace
}  // namespace tenon::cpu
