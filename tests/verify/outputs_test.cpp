// When an output counts as equal, and what is said when it does not.
#include "verify/outputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "base/error.h"
#include "ir/parse.h"

namespace tenon {
namespace {

Tensor of(std::initializer_list<double> values) {
  return Tensor::of(DType::f32, {static_cast<std::int64_t>(values.size())}, values);
}

OutputCheck check(const Tensor& value, const Tensor& expected, const Tolerance& tolerance = {}) {
  static const auto graph = parse("graph g(%x: f32[N]) {\n  return %x\n}\n");
  return check_outputs(*graph, std::vector{value}, std::vector{expected}, tolerance)[0];
}

Tolerance elementwise(double rtol, double atol) {
  Tolerance t(INFINITY);
  t.rtol = rtol;
  t.atol = atol;
  return t;
}

TEST(Outputs, TheToleranceIsAShareOfTheLargestValue) {
  EXPECT_TRUE(check(of({100, 0.005}), of({100, 0})).ok);
  EXPECT_FALSE(check(of({100, 0.02}), of({100, 0})).ok);
  EXPECT_NEAR(check(of({100, 0.02}), of({100, 0})).needed_tolerance(), 2e-4, 1e-8);
}

TEST(Outputs, SmallFloatsMayDifferByTheirOwnRounding) {
  const auto half = [](DType dtype, double value) { return of({100, value}).to(dtype); };
  EXPECT_TRUE(check(half(DType::f16, 0.19), half(DType::f16, 0)).ok);
  EXPECT_FALSE(check(half(DType::f16, 0.21), half(DType::f16, 0)).ok);
  EXPECT_TRUE(check(half(DType::bf16, 1.5), half(DType::bf16, 0)).ok);
  EXPECT_FALSE(check(half(DType::bf16, 1.7), half(DType::bf16, 0)).ok);
  EXPECT_TRUE(check(half(DType::f8e4m3fn, 12), half(DType::f8e4m3fn, 0)).ok);
  EXPECT_FALSE(check(half(DType::f8e4m3fn, 13), half(DType::f8e4m3fn, 0)).ok);
  EXPECT_TRUE(check(half(DType::f8e5m2, 24), half(DType::f8e5m2, 0)).ok);
  EXPECT_FALSE(check(half(DType::f8e5m2, 28), half(DType::f8e5m2, 0)).ok);
  EXPECT_NEAR(check(half(DType::f16, 0.25), half(DType::f16, 0)).needed_tolerance(), 1.25e-4, 1e-8);
}

TEST(Outputs, ElementsMayBeJudgedOneByOne) {
  EXPECT_FALSE(check(of({100, 0.02}), of({100, 0.01}), elementwise(0.1, 0)).ok);
  EXPECT_TRUE(check(of({100, 0.02}), of({100, 0.01}), elementwise(0.1, 0.01)).ok);
  EXPECT_NEAR(check(of({100, 0.02}), of({100, 0.01}), elementwise(0.1, 0)).spread.needed_rtol, 1, 1e-6);
}

TEST(Outputs, ComplexErrorsAreDistances) {
  const auto check_parts = [](std::complex<float> value, std::complex<float> expected, const Tolerance& t) {
    const auto tensor = [](std::complex<float> z) {
      Tensor both = Tensor::zeros(DType::c64, {2});
      both.mutable_data<std::complex<float>>()[0] = z;
      both.mutable_data<std::complex<float>>()[1] = 100;
      return both;
    };
    return check(tensor(value), tensor(expected), t);
  };
  EXPECT_FALSE(check_parts({1, 1}, {1, 2}, {}).ok);
  EXPECT_TRUE(check_parts({1, 1.999F}, {1, 2}, {}).ok);
  EXPECT_EQ(check_parts({1, 1}, {1, 2}, {}).spread.exact, 1);
  EXPECT_EQ(check_parts({4, 3}, {0, 0}, {}).spread.mean, 2.5);
  EXPECT_TRUE(check_parts({3.5F, 0}, {3, 0.5F}, elementwise(0.25, 0)).ok);
  EXPECT_FALSE(check_parts({3.5F, 0}, {3, 0.5F}, elementwise(0.2, 0)).ok);
}

TEST(Outputs, WhatOthersDrewIsComparedByTypeAndSizes) {
  const auto graph = parse(R"(graph g(%x: f32[N]) {
  %1 = random_bits(shape=N, stream=1) : i64[N]
  %2 = cast(%1, to=f32) : f32[N]
  return %x, %2
}
)");
  const auto check = [&](const Tensor& drawn, Draws draws) {
    return check_outputs(*graph, std::vector{of({1, 2}), of({3, 4})}, std::vector{of({1, 2}), drawn}, {},
                         draws);
  };
  EXPECT_FALSE(check(of({5, 6}), Draws::same)[1].ok);
  const auto checks = check(of({5, 6}), Draws::others);
  EXPECT_TRUE(checks[0].ok && !checks[0].types_only && checks[0].difference.compared == 2);
  EXPECT_TRUE(checks[1].ok && checks[1].types_only && checks[1].difference.compared == 0);
  EXPECT_EQ(word(checks[1]), "types and sizes only");
  EXPECT_EQ(word(check(of({5}), Draws::others)[1]), "DIFFERS");
  EXPECT_EQ(word(check(of({5, 6}).to(DType::f64), Draws::others)[1]), "DIFFERS");
}

// As many elements as a draw chooses.
TEST(Outputs, SizesThatRandomNumbersDecideAreNotCompared) {
  const auto graph = parse(R"(graph g(%x: f32[3]) {
  %1 = random_bits(shape=[u,3], stream=1) : i64[u,3]
  return %1
}
)");
  const auto sized = [](std::int64_t rows, std::int64_t columns) {
    return Tensor::empty(DType::i64, {rows, columns});
  };
  EXPECT_TRUE(check_type(*graph, 0, sized(2, 3), sized(5, 3)).ok);
  EXPECT_FALSE(check_type(*graph, 0, sized(2, 3), sized(2, 4)).ok);
}

TEST(Outputs, LimitsOfZeroAreLimits) {
  EXPECT_FALSE(check(of({1, 2}), of({1, 2.5}), elementwise(0, 0)).ok);
  EXPECT_TRUE(check(of({1, 2}), of({1, 2}), elementwise(0, 0)).ok);
}

TEST(Outputs, NoToleranceAcceptsNaNForANumber) {
  EXPECT_FALSE(check(of({NAN, 2}), of({1, 2}), Tolerance(INFINITY)).ok);
}

TEST(Outputs, ErrorsAreCountedByDecades) {
  const ErrorSpread s = check(of({1, 0.5 + 3e-3, 0.25 + 3e-5, 0}), of({1, 0.5, 0.25, 0})).spread;
  EXPECT_EQ(s.elements, 4);
  EXPECT_EQ(s.exact, 2);
  ASSERT_EQ(s.buckets.size(), 3u);
  EXPECT_DOUBLE_EQ(s.buckets[0].below, 1e-4);
  EXPECT_EQ(s.buckets[0].count, 1);
  EXPECT_EQ(s.buckets[1].count, 0);
  EXPECT_EQ(s.buckets[2].count, 1);
  EXPECT_NEAR(s.mean, (3e-3 + 3e-5) / 4, 1e-7);
}

TEST(Outputs, NaNOnOneSideIsNoNumber) {
  const OutputCheck c = check(of({NAN, 1}), of({0, 1}));
  EXPECT_FALSE(c.ok);
  EXPECT_EQ(c.spread.infinite, 1);
  EXPECT_TRUE(std::isinf(c.needed_tolerance()));
  EXPECT_TRUE(check(of({NAN, 1}), of({NAN, 1})).ok);
}

TEST(Outputs, DtypeShapeAndNumberMustAgree) {
  EXPECT_FALSE(check(of({1, 2}), of({1, 2}).to(DType::f64)).ok);
  EXPECT_FALSE(check(of({1, 2}), of({1, 2, 3})).ok);
  const auto graph = parse("graph g(%x: f32[N]) {\n  return %x\n}\n");
  EXPECT_THROW(check_outputs(*graph, std::vector{of({1})}, {}), Error);
}

}  // namespace
}  // namespace tenon
