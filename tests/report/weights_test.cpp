// What is said of a weight's numbers.
#include "report/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

class EachFloat : public ::testing::TestWithParam<DType> {};

TEST_P(EachFloat, RangeMeanDeviationAndZeros) {
  const auto s = statistics(Tensor::of(GetParam(), {2, 3}, {0.0, -1.5, 2.0, 0.0, 4.0, 1.5}));
  EXPECT_EQ(s.min, -1.5);
  EXPECT_EQ(s.max, 4);
  EXPECT_EQ(s.mean, 1);
  EXPECT_NEAR(s.deviation, std::sqrt((1 + 6.25 + 1 + 1 + 9 + 0.25) / 6), 1e-12);
  EXPECT_EQ(s.count, 6);
  EXPECT_EQ(s.zeros, 2);
}

TEST_P(EachFloat, WhatIsNotFiniteIsCountedAndLeftOut) {
  const auto s = statistics(Tensor::of(GetParam(), {6}, {1.0, nan, 3.0, infinity, -infinity, nan}));
  EXPECT_EQ(s.nans, 2);
  EXPECT_EQ(s.infinities, 2);
  EXPECT_EQ(s.finite(), 2);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 3);
  EXPECT_EQ(s.mean, 2);
}

INSTANTIATE_TEST_SUITE_P(Weights, EachFloat,
                         ::testing::Values(DType::f16, DType::bf16, DType::f32, DType::f64),
                         [](const auto& p) { return std::string(name(p.param)); });

TEST(Weights, LongOnesAreSeenToTheLastNumber) {
  for (const std::int64_t count : {15, 16, 17, 4096, 4097, 100003}) {
    Tensor t = Tensor::zeros(DType::f32, {count});
    t.set_double(std::array{count - 1}, 5);
    t.set_double(std::array{count / 2}, nan);
    const auto s = statistics(t);
    EXPECT_EQ(s.max, 5) << count;
    EXPECT_EQ(s.nans, 1) << count;
    EXPECT_EQ(s.zeros, count - 2) << count;
  }
}

TEST(Weights, ViewsAreReadThroughTheirStrides) {
  const Tensor t = Tensor::of(DType::f32, {2, 2}, {1.0, 2.0, 3.0, 4.0});
  EXPECT_EQ(statistics(t.slice(1, 0, 2, 2)).mean, 2);
}

TEST(Weights, IntegersAndBools) {
  EXPECT_EQ(statistics(Tensor::of(DType::i64, {3}, {-7, 0, 1})).min, -7);
  EXPECT_EQ(statistics(Tensor::of(DType::boolean, {4}, {1, 0, 0, 1})).mean, 0.5);
}

TEST(Weights, NothingHasNoRange) {
  const auto s = statistics(Tensor::empty(DType::f32, {0, 4}));
  EXPECT_EQ(s.finite(), 0);
  EXPECT_TRUE(to_json(*Graph().add_weight("w", Tensor::empty(DType::f32, {0})), s)["min"].is_null());
}

}  // namespace
}  // namespace tenon
