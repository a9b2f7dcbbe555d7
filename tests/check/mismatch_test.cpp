#include "check/mismatch.h"

#include <gtest/gtest.h>

#include <limits>

namespace tenon {
namespace {

const Tensor expected = Tensor::of(DType::f32, {2, 3}, {1.0, -2.0, 4.0, 0.5, 0.0, 8.0});

std::optional<Failure> compared(const Tensor& value, const Tensor& stored, const Tolerance& tolerance = {}) {
  return failure_of(check_output("y", value, stored, tolerance), "sample", value, stored, tolerance);
}

Failure failure_for(const Tensor& value, const Tolerance& tolerance = {}) {
  const auto f = compared(value, expected, tolerance);
  EXPECT_TRUE(f);
  return f.value_or(Failure{});
}

TEST(Mismatch, NothingIsSaidOfEqualOutputs) { EXPECT_FALSE(compared(expected, expected)); }

TEST(Mismatch, NamesPlaceSizeAndCount) {
  Tensor value = expected.clone();
  value.set_double(std::array<std::int64_t, 2>{1, 0}, 2.5);
  const Failure f = failure_for(value);
  EXPECT_EQ(f.message,
            "output y of sample differs: 1 of 6 elements by more than 0.0001 of the largest value");
  EXPECT_NE(f.details.find("largest error 2 at [1,0]: 2.5, expected 0.5"), std::string::npos) << f.details;
  EXPECT_NE(f.details.find("it would pass with tolerance = 0.25"), std::string::npos) << f.details;
  EXPECT_EQ(f.data["index"], (Index{1, 0}));
  EXPECT_EQ(f.data["differing"], 1);
}

TEST(Mismatch, WhatItSaysIsEnoughIsEnough) {
  Tensor value = expected.clone();
  value.set_double(std::array<std::int64_t, 2>{0, 1}, -2.0123);
  for (const Tolerance& t : {Tolerance(1e-4), [] {
                               Tolerance e(1e9);
                               e.rtol = 1e-5;
                               return e;
                             }()}) {
    const Failure f = failure_for(value, t);
    const auto at = f.details.find("it would pass with ");
    ASSERT_NE(at, std::string::npos);
    const double enough = std::stod(f.details.substr(f.details.find('=', at) + 1));
    Tolerance wider = t;
    if (t.elementwise())
      wider.rtol = enough;
    else
      wider.share = enough;
    EXPECT_FALSE(compared(value, expected, wider));
  }
}

TEST(Mismatch, NaNAndInfinityAreCounted) {
  Tensor value = expected.clone();
  value.set_double(std::array<std::int64_t, 2>{0, 0}, std::numeric_limits<double>::quiet_NaN());
  value.set_double(std::array<std::int64_t, 2>{0, 2}, std::numeric_limits<double>::infinity());
  const Failure f = failure_for(value);
  EXPECT_NE(f.details.find("the first NaN or infinity at [0,0]: nan, expected 1"), std::string::npos)
      << f.details;
  EXPECT_NE(f.details.find("2 elements are NaN or infinite"), std::string::npos) << f.details;
  EXPECT_NE(f.details.find("no tolerance accepts"), std::string::npos) << f.details;
}

TEST(Mismatch, IntegersAreToBeEqual) {
  const Tensor stored = Tensor::of(DType::i64, {3}, {1, 2, 3}),
               value = Tensor::of(DType::i64, {3}, {1, 2, 4});
  const auto f = compared(value, stored, Tolerance(1));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->message, "output y of sample differs: 1 of 3 elements");
}

TEST(Mismatch, AnotherTypeIsNamed) {
  EXPECT_EQ(failure_for(expected.to(DType::f64)).message,
            "output y of sample is f64[2,3], stored is f32[2,3]");
  EXPECT_EQ(failure_for(expected.reshape({3, 2})).message,
            "output y of sample is f32[3,2], stored is f32[2,3]");
}

}  // namespace
}  // namespace tenon
