// The scalar primitives mean what PyTorch means: NaN, ties, signs of zero, division, shifts, casts.
#include "base/scalar.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();

double real(Prim p, double a, double b = 0, double c = 0) { return apply<double>(p, a, b, c); }
std::int64_t whole(Prim p, std::int64_t a, std::int64_t b = 0) { return apply<std::int64_t>(p, a, b); }

TEST(Scalar, MinAndMaxKeepNanAndFminAndFmaxDropIt) {
  for (const Prim p : {Prim::min, Prim::max}) {
    EXPECT_TRUE(std::isnan(real(p, nan, 1)));
    EXPECT_TRUE(std::isnan(real(p, 1, nan)));
  }
  EXPECT_EQ(real(Prim::fmin, nan, 1), 1);
  EXPECT_EQ(real(Prim::fmax, 1, nan), 1);
}

TEST(Scalar, RoundGoesToTheEvenNeighbour) {
  EXPECT_EQ(real(Prim::round, 0.5), 0);
  EXPECT_EQ(real(Prim::round, 1.5), 2);
  EXPECT_EQ(real(Prim::round, 2.5), 2);
  EXPECT_TRUE(std::signbit(real(Prim::round, -0.5)));
}

TEST(Scalar, SignOfNanIsZero) {
  EXPECT_EQ(real(Prim::sign, nan), 0);
  EXPECT_EQ(real(Prim::sign, -inf), -1);
}

TEST(Scalar, DivisionsOfFloats) {
  EXPECT_EQ(real(Prim::remainder, -5, 3), 1);
  EXPECT_EQ(real(Prim::remainder, 5, -3), -1);
  EXPECT_EQ(real(Prim::remainder, -1, inf), inf);
  EXPECT_EQ(real(Prim::fmod, -5, 3), -2);
  EXPECT_EQ(real(Prim::floor_div, -5, 3), -2);
  EXPECT_EQ(real(Prim::floor_div, -1, inf), -1);
  EXPECT_EQ(real(Prim::floor_div, 1, 0), inf);
  EXPECT_EQ(real(Prim::trunc_div, -5, 3), -1);
}

TEST(Scalar, DivisionsOfIntegersAreDefinedForZeroAndOverflow) {
  EXPECT_EQ(whole(Prim::floor_div, -5, 3), -2);
  EXPECT_EQ(whole(Prim::trunc_div, -5, 3), -1);
  EXPECT_EQ(whole(Prim::div, -5, 3), -1);
  EXPECT_EQ(whole(Prim::remainder, -5, 3), 1);
  EXPECT_EQ(whole(Prim::fmod, -5, 3), -2);
  for (const Prim p : {Prim::div, Prim::trunc_div, Prim::floor_div}) {
    EXPECT_EQ(whole(p, 7, 0), 0);
    EXPECT_EQ(whole(p, smallest, -1), smallest);
  }
  EXPECT_EQ(whole(Prim::remainder, 7, 0), 7);
  EXPECT_EQ(whole(Prim::fmod, smallest, -1), 0);
}

TEST(Scalar, IntegersWrapAround) {
  EXPECT_EQ(whole(Prim::neg, smallest), smallest);
  EXPECT_EQ(whole(Prim::abs, smallest), smallest);
  EXPECT_EQ(whole(Prim::sub, smallest, 1), std::numeric_limits<std::int64_t>::max());
}

TEST(Scalar, IntegerPowers) {
  EXPECT_EQ(whole(Prim::pow, 3, 4), 81);
  EXPECT_EQ(whole(Prim::pow, -2, 3), -8);
  EXPECT_EQ(whole(Prim::pow, 2, -1), 0);
  EXPECT_EQ(whole(Prim::pow, -1, -3), -1);
  EXPECT_EQ(whole(Prim::pow, -1, -2), 1);
}

TEST(Scalar, ShiftsOutOfRange) {
  EXPECT_EQ(whole(Prim::shift_left, 1, 64), 0);
  EXPECT_EQ(whole(Prim::shift_left, -5, 2), -20);
  EXPECT_EQ(whole(Prim::shift_right, -1, 64), -1);
  EXPECT_EQ(whole(Prim::shift_right, 5, -1), 0);
}

TEST(Scalar, ArithmeticOfBools) {
  EXPECT_TRUE(apply(Prim::add, true, true));
  EXPECT_FALSE(apply(Prim::mul, true, false));
  EXPECT_FALSE(apply(Prim::bit_not, true));
  EXPECT_TRUE(apply(Prim::logical_and, nan, 1.0));
}

TEST(Scalar, CastsGoThroughTheTarget) {
  EXPECT_EQ(cast<std::int64_t>(DType::u8, 300.0), 44);
  EXPECT_EQ(cast<std::int64_t>(DType::u8, -1.0), 255);
  EXPECT_EQ(cast<std::int64_t>(DType::i64, inf), smallest);
  EXPECT_EQ(cast<std::int64_t>(DType::i64, nan), smallest);
  EXPECT_EQ(cast<std::int64_t>(DType::i32, 3e9), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(cast<std::int64_t>(DType::i8, std::int64_t{200}), -56);
  EXPECT_EQ(cast<float>(DType::f16, 1e6), std::numeric_limits<float>::infinity());
  EXPECT_EQ(cast<float>(DType::bf16, 1.00390625), 1.0f);
  EXPECT_TRUE(cast<bool>(DType::boolean, nan));
  EXPECT_TRUE(cast<bool>(DType::boolean, 0.5));
}

TEST(Scalar, InverseErrorFunction) {
  for (const double x : {1e-300, 1e-9, 1e-5, 0.3, 0.5, 0.9, 0.999999, 1 - 1e-15})
    EXPECT_NEAR(std::erf(real(Prim::erfinv, x)) / x, 1, 4e-16) << x;
  EXPECT_EQ(real(Prim::erfinv, -0.3), -real(Prim::erfinv, 0.3));
  EXPECT_EQ(real(Prim::erfinv, 1), inf);
  EXPECT_TRUE(std::isnan(real(Prim::erfinv, 1.5)));
}

TEST(Scalar, Digamma) {
  EXPECT_NEAR(real(Prim::digamma, 1), -0.57721566490153286, 1e-15);
  EXPECT_NEAR(real(Prim::digamma, 0.25), -4.2274535333762654, 1e-14);
  EXPECT_NEAR(real(Prim::digamma, -0.5), 0.036489973978576520, 1e-14);
  EXPECT_NEAR(real(Prim::digamma, 100), 4.6001618527380874, 1e-14);
  for (const double x : {1e-10, 1e-20, 1e-300}) EXPECT_NEAR(real(Prim::digamma, -x) * x, 1, 1e-9) << x;
  EXPECT_EQ(real(Prim::digamma, 0.0), -inf);
  EXPECT_EQ(real(Prim::digamma, -0.0), inf);
  EXPECT_TRUE(std::isnan(real(Prim::digamma, -1)));
}

}  // namespace
}  // namespace tenon
