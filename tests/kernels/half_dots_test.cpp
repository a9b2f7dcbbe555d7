// Products of 16-bit floats with a vector meet sums in double, for any depth and distance of rows.
#include "kernels/cpu/half_dots.h"

#include <cmath>
#include <random>
#include <vector>

#include "base/half.h"
#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class HalfProducts : public OnEveryIsa {};
TENON_EVERY_ISA(HalfProducts);

/// Of whole numbers that a product sums exactly.
template <class T>
void check(DType type, long rows, long depth, long gap) {
  std::mt19937 random(1);
  const auto numbers = [&](long count) {
    std::vector<T> values;
    for (long i = 0; i < count; ++i) values.emplace_back(static_cast<float>(random() % 17) - 8);
    return values;
  };
  const std::vector<T> a = numbers(rows * (depth + gap)), x = numbers(depth);
  std::vector<T> y(static_cast<std::size_t>(rows + 1), T(77));
  const auto bits = [](auto& values) {
    return reinterpret_cast<std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(values)>>,
                                               const std::uint16_t*, std::uint16_t*>>(values.data());
  };
  const HalfDots dots{
      .type = type, .depth = depth, .a = bits(a), .a_row = depth + gap, .x = bits(x), .y = bits(y)};
  half_dots(dots, 0, rows);
  for (long m = 0; m < rows; ++m) {
    float sum = 0;
    for (long k = 0; k < depth; ++k)
      sum += static_cast<float>(a[static_cast<std::size_t>(m * (depth + gap) + k)]) *
             static_cast<float>(x[static_cast<std::size_t>(k)]);
    ASSERT_EQ(static_cast<float>(y[static_cast<std::size_t>(m)]), static_cast<float>(T(sum)))
        << rows << "x" << depth << " at " << m;
  }
  EXPECT_EQ(static_cast<float>(y.back()), 77) << "written beyond the rows";
}

TEST_P(HalfProducts, AreRoundedOnce) {
  for (const long rows : {1, 3, 4, 5, 13})
    for (const long depth : {1, 2, 15, 16, 31, 33, 64, 127, 1000})
      for (const long gap : {0, 3}) {
        check<Half>(DType::f16, rows, depth, gap);
        check<BFloat16>(DType::bf16, rows, depth, gap);
      }
}

TEST_P(HalfProducts, ANumberThatIsNotFiniteReachesItsRowAlone) {
  std::vector<Half> a(4 * 40, Half(1)), x(40, Half(2)), y(4);
  a[1 * 40 + 39] = Half(INFINITY);
  a[2 * 40 + 3] = Half(NAN);
  half_dots({.type = DType::f16,
             .depth = 40,
             .a = reinterpret_cast<const std::uint16_t*>(a.data()),
             .a_row = 40,
             .x = reinterpret_cast<const std::uint16_t*>(x.data()),
             .y = reinterpret_cast<std::uint16_t*>(y.data())},
            0, 4);
  EXPECT_EQ(static_cast<float>(y[0]), 80);
  EXPECT_EQ(static_cast<float>(y[1]), INFINITY);
  EXPECT_TRUE(std::isnan(static_cast<float>(y[2])));
  EXPECT_EQ(static_cast<float>(y[3]), 80);
}

}  // namespace
}  // namespace tenon::cpu
