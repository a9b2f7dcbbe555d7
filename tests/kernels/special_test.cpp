// Special functions of many numbers are what each of them has by itself.
#include "kernels/cpu/special.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class Specials : public OnEveryIsa {};
TENON_EVERY_ISA(Specials);

template <class T>
void check(SpecialFunction function, const std::vector<T>& a, const std::vector<T>& b, double tolerance) {
  constexpr DType dtype = sizeof(T) == 8 ? DType::f64 : DType::f32;
  std::vector<T> out(a.size() + 1, T(99));
  ThreadPool pool(2);
  run_special({function, dtype, a.data(), b.data(), out.data(), static_cast<long>(a.size())}, pool);
  ASSERT_EQ(out.back(), T(99));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double exact = scalar_detail::meaning(function, a[i], b[i]);
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(out[i])) << a[i];
    } else if (static_cast<T>(exact) != out[i]) {
      EXPECT_LE(std::fabs(out[i] - exact), tolerance * std::fmax(0.25, std::fabs(exact))) << a[i];
    }
  }
}
template <class T>
void check_all(SpecialFunction function, const std::vector<double>& numbers) {
  const double tolerance = sizeof(T) == 8 ? 2e-15 : 1e-7;
  const std::vector<T> all(numbers.begin(), numbers.end()), ones(all.size(), T(1));
  check(function, all, ones, tolerance);
  for (const std::size_t count : {1, 3, 255, 257})
    check(function, std::vector<T>(all.begin(), all.begin() + static_cast<long>(count)), ones, tolerance);
}

TEST_P(Specials, BesselFunctionsNearAndFar) {
  for (const double bound : {7.9, 29.9, 300.0}) {
    std::vector<double> x = {0.0, -0.0, 1e-300};
    for (int i = 0; i < 1500; ++i) x.push_back(bound * std::sin(i));
    if (bound > 200)
      for (const double special : {HUGE_VAL, -HUGE_VAL, std::nan("")}) x.push_back(special);
    for (const SpecialFunction f :
         {SpecialFunction::i0, SpecialFunction::i0e, SpecialFunction::i1, SpecialFunction::i1e}) {
      check_all<double>(f, x);
      if (bound < 80) check_all<float>(f, x);
    }
  }
}

TEST_P(Specials, QuantilesOfTheNormalDistribution) {
  for (const double least : {0.01, 1e-9, 1e-40}) {
    std::vector<double> p = {0.5, 0.25, 0.75};
    for (double x = 0.4999; x > least; x *= 0.97) p.push_back(x), p.push_back(1 - x);
    for (int i = 0; p.size() < 300; ++i) p.push_back(0.3 + 0.001 * i);
    if (least < 1e-30)
      for (const double special : {0.0, 1.0, -1.0, 2.0, std::nan("")}) p.push_back(special);
    check_all<double>(SpecialFunction::ndtri, p);
    if (least > 1e-10) check_all<float>(SpecialFunction::ndtri, p);
  }
}

TEST_P(Specials, IncompleteGammaFunctions) {
  std::vector<double> a, x;
  for (int i = 0; i < 3000; ++i) {
    a.push_back(std::exp2(-8 + i % 157 / 10.0));
    x.push_back(a.back() * std::exp2(-6 + i % 101 / 10.0));
  }
  for (const double special : {0.0, -1.0, 1e-300, 150.0, 1e5, 1e9, HUGE_VAL, std::nan("")})
    for (const double other : {0.0, 0.5, 3.0, 151.0, 2e5, HUGE_VAL, std::nan("")}) {
      a.push_back(special), x.push_back(other);
      a.push_back(other), x.push_back(special);
    }
  for (const auto f : {SpecialFunction::gammainc, SpecialFunction::gammaincc}) {
    check(f, a, x, 2e-13);  // exponents of up to 1000 are rounded
    check(f, std::vector<float>(a.begin(), a.end()), std::vector<float>(x.begin(), x.end()), 1e-7);
  }
}

TEST_P(Specials, FunctionsWithoutVectorCode) {
  const std::vector<float> x = {0.5f, 1.5f, 2.5f, 3.5f}, n = {0, 1, 2, 3};
  check(SpecialFunction::hermite_h, x, n, 1e-7);
  check(SpecialFunction::log_ndtr, x, n, 1e-7);
}

}  // namespace
}  // namespace tenon::cpu
