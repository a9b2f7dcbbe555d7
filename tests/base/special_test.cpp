// The special functions against the C++ library and values of the DLMF.
#include <gtest/gtest.h>

#include "base/special_meaning.h"

namespace tenon {
namespace {

double value(SpecialFunction f, double a, double b = 0) { return scalar_detail::meaning(f, a, b); }

void expect_ratio_of_one(double got, double expected, double x) {
  EXPECT_NEAR(got / expected, 1, 1e-13) << "at " << x;
}

TEST(Special, ModifiedBesselFunctionsAreThoseOfTheLibrary) {
  for (const double x : {1e-12, 1e-3, 0.4, 0.999, 1.0, 1.7, 5.0, 12.0, 29.9, 30.0, 30.1, 77.0, 300.0}) {
    expect_ratio_of_one(value(SpecialFunction::i0, x), std::cyl_bessel_i(0, x), x);
    expect_ratio_of_one(value(SpecialFunction::i1, x), std::cyl_bessel_i(1, x), x);
    expect_ratio_of_one(value(SpecialFunction::k0, x), std::cyl_bessel_k(0, x), x);
    expect_ratio_of_one(value(SpecialFunction::k1, x), std::cyl_bessel_k(1, x), x);
  }
}

// Computed with mpmath to 17 digits.
TEST(Special, AiryFunction) {
  constexpr double expected[][2] = {
      {-102.0, 0.07836232394703393}, {-20.25, -0.25609535403377042}, {-1.0, 0.53556088329235212},
      {-0.5, 0.47572809161053959},   {0.5, 0.23169360648083349},     {1.0, 0.13529241631288142},
      {3.0, 0.0065911393574607191},  {40.0, 6.3657426585529149e-75}, {100.0, 2.6344821520881845e-291}};
  for (const auto& [x, y] : expected) EXPECT_NEAR(value(SpecialFunction::airy_ai, x) / y, 1, 1e-12) << x;
}

TEST(Special, ScaledFunctionsOfLargeArguments) {
  EXPECT_NEAR(value(SpecialFunction::i0e, 2e6) * std::sqrt(2 * scalar_detail::pi * 2e6), 1, 1e-6);
  EXPECT_NEAR(value(SpecialFunction::k1e, 2e6) / std::sqrt(scalar_detail::pi / 4e6), 1, 1e-6);
  EXPECT_EQ(value(SpecialFunction::i1e, -2e6), -value(SpecialFunction::i1e, 2e6));
}

TEST(Special, NoFiniteDegree) {
  for (const double degree : {HUGE_VAL, -HUGE_VAL, std::nan(""), -1.0})
    EXPECT_EQ(value(SpecialFunction::legendre_p, 0.5, degree), 0);
}

}  // namespace
}  // namespace tenon
