// What counts as a difference.
#include "runtime/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon {
namespace {

Tensor tensor(DType dtype, const std::vector<double>& values) {
  Tensor t = Tensor::empty(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.set_double(std::array{i}, values[static_cast<std::size_t>(i)]);
  return t;
}
constexpr double inf = std::numeric_limits<double>::infinity();

TEST(Compare, FloatsMayDifferByAShareOfTheLargest) {
  const Difference d = compare(tensor(DType::f32, {1, 100.001}), tensor(DType::f32, {1, 100}));
  EXPECT_TRUE(d.within(1e-4));
  EXPECT_FALSE(d.within(1e-6));
  EXPECT_EQ(d.worst, Index{1});
}

TEST(Compare, IntegersMayNotDiffer) {
  EXPECT_FALSE(compare(tensor(DType::i64, {50004}), tensor(DType::i64, {50000})).within(1e-4));
  EXPECT_TRUE(compare(tensor(DType::i64, {50000}), tensor(DType::i64, {50000})).within(0));
  const Tensor large = Tensor::scalar(DType::i64, std::int64_t{1} << 60);
  const Tensor next = Tensor::scalar(DType::i64, (std::int64_t{1} << 60) + 1);
  EXPECT_EQ(compare(next, large).max_error, 1);
}

TEST(Compare, NotANumberEqualsItselfAndNothingElse) {
  const Tensor nan = tensor(DType::f32, {std::nan(""), inf});
  EXPECT_TRUE(compare(nan, nan).within(0));
  EXPECT_FALSE(compare(tensor(DType::f32, {1, inf}), nan).within(1));
  EXPECT_FALSE(compare(nan, tensor(DType::f32, {1, inf})).within(1));
  EXPECT_FALSE(compare(tensor(DType::f32, {inf}), tensor(DType::f32, {-inf})).within(1));
}

TEST(Compare, WithoutAFiniteValueNothingHasASize) {
  EXPECT_FALSE(compare(tensor(DType::f32, {1}), tensor(DType::f32, {inf})).within(1e9));
  EXPECT_NE(compare(tensor(DType::f32, {inf}), tensor(DType::f32, {inf})).str().find("NaN or infinite"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
