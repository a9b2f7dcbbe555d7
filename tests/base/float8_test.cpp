// The 8-bit floats: every code is the number that its bits mean, and a float becomes the nearest one, the
// even one of two, as PyTorch casts (tests/python/test_float8.py compares with it).
#include "base/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>

namespace tenon {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Corners {
  float largest, smallest;
  float infinite, beyond;  // what infinity and the first number that does not round to `largest` become
  bool has_minus_zero;
  int nans;
};
template <class T>
Corners corners();
template <>
Corners corners<Float8E4M3FN>() {
  return {448, 0x1p-9f, 448, 448, true, 2};
}
template <>
Corners corners<Float8E5M2>() {
  return {57344, 0x1p-16f, inf, inf, true, 6};
}
template <>
Corners corners<Float8E4M3FNUZ>() {
  return {240, 0x1p-10f, nan, nan, false, 1};
}
template <>
Corners corners<Float8E5M2FNUZ>() {
  return {57344, 0x1p-17f, nan, nan, false, 1};
}

template <class T>
float value(int code) {
  return T::to_float(static_cast<std::uint8_t>(code));
}
template <class T>
float rounded(float x) {
  return T(x);
}
void expect_same(float a, float b) {
  if (std::isnan(b))
    EXPECT_TRUE(std::isnan(a)) << a;
  else
    EXPECT_EQ(a, b);
}

template <class T>
class Float8Test : public ::testing::Test {};
using Types = ::testing::Types<Float8E4M3FN, Float8E5M2, Float8E4M3FNUZ, Float8E5M2FNUZ>;
TYPED_TEST_SUITE(Float8Test, Types);

TYPED_TEST(Float8Test, EveryCodeIsWhatItsBitsMean) {
  int nans = 0;
  for (int code = 0; code < 256; ++code) {
    const float x = value<TypeParam>(code);
    if (std::isnan(x)) {
      ++nans;
      continue;
    }
    if (std::isinf(x)) continue;
    const int exponent = (code & 0x7f) >> TypeParam::mantissa;
    const double digits = code & ((1 << TypeParam::mantissa) - 1);
    const double fraction = std::ldexp(digits, -TypeParam::mantissa);
    const double size = exponent ? std::ldexp(1 + fraction, exponent - TypeParam::bias)
                                 : std::ldexp(fraction, 1 - TypeParam::bias);
    EXPECT_EQ(x, code & 0x80 ? -size : size) << code;
    EXPECT_EQ(std::signbit(x), (code & 0x80) != 0) << code;
    EXPECT_EQ(TypeParam(x).bits, code);
  }
  EXPECT_EQ(nans, corners<TypeParam>().nans);
}

TYPED_TEST(Float8Test, BetweenTwoNumbersTheNearerOneAndOfTiesTheEvenOne) {
  const Corners c = corners<TypeParam>();
  for (int code = 0; value<TypeParam>(code) < c.largest; ++code) {
    const float low = value<TypeParam>(code), high = value<TypeParam>(code + 1);
    const float middle = low + (high - low) / 2;
    for (const float sign : {1.0f, -1.0f}) {
      EXPECT_EQ(rounded<TypeParam>(sign * std::nextafter(middle, low)), sign * low) << code;
      EXPECT_EQ(rounded<TypeParam>(sign * middle), sign * (code % 2 ? high : low)) << code;
      EXPECT_EQ(rounded<TypeParam>(sign * std::nextafter(middle, high)), sign * high) << code;
    }
  }
}

TYPED_TEST(Float8Test, Corners) {
  const Corners c = corners<TypeParam>();
  EXPECT_EQ(value<TypeParam>(1), c.smallest);
  for (const float sign : {1.0f, -1.0f}) {
    EXPECT_EQ(rounded<TypeParam>(sign * c.largest), sign * c.largest);
    expect_same(rounded<TypeParam>(sign * inf), sign * c.infinite);
    expect_same(rounded<TypeParam>(sign * 2 * c.largest), sign * c.beyond);
    expect_same(rounded<TypeParam>(sign * std::numeric_limits<float>::max()), sign * c.beyond);
    EXPECT_TRUE(std::isnan(rounded<TypeParam>(sign * nan)));
    for (const float tiny : {0.0f, c.smallest / 2, std::numeric_limits<float>::denorm_min()}) {
      EXPECT_EQ(rounded<TypeParam>(sign * tiny), 0);
      EXPECT_EQ(std::signbit(rounded<TypeParam>(sign * tiny)), sign < 0 && c.has_minus_zero);
    }
  }
}

TEST(Float8, WhatIsJustBeyondTheLargestNumber) {
  EXPECT_EQ(rounded<Float8E4M3FN>(464), 448);
  EXPECT_EQ(rounded<Float8E4M3FN>(465), 448);
  EXPECT_EQ(rounded<Float8E5M2>(61439), 57344);
  EXPECT_EQ(rounded<Float8E5M2>(61440), inf);
  EXPECT_EQ(rounded<Float8E4M3FNUZ>(247), 240);
  EXPECT_TRUE(std::isnan(rounded<Float8E4M3FNUZ>(248)));
}

}  // namespace
}  // namespace tenon
