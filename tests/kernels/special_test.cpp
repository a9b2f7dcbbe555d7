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

template <class T>
void check_divisors(DType dtype) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers = {0, 1, 2, 6, 12, 96, 100, 127, Limits::min(), Limits::max(), Limits::max() - 1};
  for (const int bits : {23, 24, 51, 52, 53})
    if (bits < Limits::digits)
      for (const int near : {-1, 0, 1})
        numbers.push_back(static_cast<T>((T{1} << bits) + static_cast<T>(near)));
  const std::size_t few = numbers.size();
  for (std::size_t i = 0; std::is_signed_v<T> && i < few; ++i)
    if (numbers[i] != Limits::min()) numbers.push_back(static_cast<T>(-numbers[i]));
  std::vector<T> a, b;
  for (const T x : numbers)
    for (const T y : numbers) a.push_back(x), b.push_back(y);
  for (unsigned i = 1; i < 400; ++i) {  // groups without large numbers, too
    a.push_back(static_cast<T>(i * 2654435761u >> 25)), b.push_back(static_cast<T>(i * 40503u >> 3 & 63));
  }
  std::vector<T> out(a.size());
  ThreadPool pool(1);
  run_special({{}, dtype, a.data(), b.data(), out.data(), static_cast<long>(a.size())}, pool);
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(out[i], scalar_detail::common_divisor(a[i], b[i])) << +a[i] << " " << +b[i];
}
TEST_P(Specials, GreatestCommonDivisors) {
  check_divisors<std::uint8_t>(DType::u8);
  check_divisors<std::int8_t>(DType::i8);
  check_divisors<std::int16_t>(DType::i16);
  check_divisors<std::int32_t>(DType::i32);
  check_divisors<std::int64_t>(DType::i64);
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

/// The size of a function about x, where its zeros make it small.
using Size = double(double);
double none(double) { return 0; }
double of_wave(double x) { return std::fabs(x) < 0.5 ? 0 : std::sqrt(1 / std::fmax(1, std::fabs(x))); }
double of_airy(double x) { return x < -1 ? 0.6 * std::pow(-x, -0.25) : 0; }
double of_sine(double x) { return std::fabs(x) < 1 ? 0 : 1 / std::fabs(x); }
double of_trigamma(double x) { return x < 0 ? 1 : 0; }
/// How often the oracle's own error is that of one rounding.
double once(double) { return 1; }
double by_square(double x) { return 1 + x * x; }
double by_zeta(double x) { return 1 + std::pow(std::fabs(x), 1.5); }
double by_pole(double x) { return x > 0 ? 1 : 1 + std::fabs(x / (x - std::rint(x))); }

struct OfOne {
  SpecialFunction function;
  Size* size = none;
  Size* rounded = once;
  std::vector<double> ends;  // of regions
};

/// Each of them, the numbers beside it, and their negatives.
void add_with_neighbours(std::vector<double>& x, double number) {
  for (const double sign : {1.0, -1.0})
    for (const double beside : {-HUGE_VAL, number, HUGE_VAL}) {
      x.push_back(sign * std::nextafter(number, beside));
      x.push_back(sign * std::nextafter(static_cast<float>(number), static_cast<float>(beside)));
    }
}

template <class T>
void check_domain(const OfOne& of, const std::vector<double>& numbers) {
  constexpr DType dtype = sizeof(T) == 8 ? DType::f64 : DType::f32;
  const std::vector<T> x(numbers.begin(), numbers.end());
  std::vector<T> out(x.size() + 1, T(99));
  ThreadPool pool(2);
  run_special({of.function, dtype, x.data(), x.data(), out.data(), static_cast<long>(x.size())}, pool);
  ASSERT_EQ(out.back(), T(99));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i], exact = scalar_detail::meaning(of.function, at, at), found = out[i];
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(found)) << at << ": " << found;
    } else if (static_cast<T>(exact) != out[i]) {
      const double epsilon = std::numeric_limits<T>::epsilon();
      const double rounded = sizeof(T) == 8 ? 8 * of.rounded(at) : 1 + 1e-8 * of.rounded(at);
      const double allowed = epsilon * rounded * (std::fabs(exact) + of.size(at));
      EXPECT_LE(std::fabs(found - exact), allowed + 4 * std::numeric_limits<T>::denorm_min())
          << at << ": " << found << " for " << exact;
    }
  }
}

TEST_P(Specials, FunctionsOfOneNumberOverTheirWholeDomain) {
  std::vector<double> common = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan("")};
  for (const double x : {5e-324, 1e-310, 1e-160, 1e-45, 1e-39, 0.5, 1.0, 2.0, 3.0, 9.0, 10.0, 700.0, 1e6, 2e6,
                         1e30, 1e160, 1e301, 1.7e308})
    add_with_neighbours(common, x);
  for (int i = 0; i < 4000; ++i) common.push_back(12 * std::sin(i));
  for (int i = 0; i < 1000; ++i) common.push_back(std::exp2(-30 + 0.05 * i) * (i % 2 == 0 ? 1 : -1));
  for (int i = -40; i < 40; ++i) common.push_back(i);
  const std::vector<OfOne> functions = {
      {SpecialFunction::airy_ai, of_airy, by_zeta, {5, 1.5, 1.25, 103.8, 103.892, 1e4}},
      {SpecialFunction::bessel_j0, of_wave, once, {8}},
      {SpecialFunction::bessel_j1, of_wave, once, {8}},
      {SpecialFunction::bessel_y0, of_wave, once, {8}},
      {SpecialFunction::bessel_y1, of_wave, once, {8}},
      {SpecialFunction::i0, none, once, {8, 30, 709, 713, 720}},
      {SpecialFunction::i0e, none, once, {8, 30}},
      {SpecialFunction::i1, none, once, {8, 30, 709, 713, 720}},
      {SpecialFunction::i1e, none, once, {8, 30}},
      {SpecialFunction::k0, none, once, {705, 740}},
      {SpecialFunction::k0e},
      {SpecialFunction::k1, none, once, {705, 740}},
      {SpecialFunction::k1e},
      {SpecialFunction::spherical_j0, of_sine},
      {SpecialFunction::erfcx, none, by_square, {26.6, 26.7, 27, 28}},
      {SpecialFunction::log_ndtr, none, by_square, {37, 38.5, 40}},
      {SpecialFunction::ndtri, none, once, {0x1p-11, 1 - 0x1p-11, 0x1p-52, 1 - 0x1p-52}},
      {SpecialFunction::trigamma, of_trigamma, by_pole},
  };
  for (const OfOne& of : functions) {
    SCOPED_TRACE(static_cast<int>(of.function));
    std::vector<double> numbers = common;
    for (const double end : of.ends) add_with_neighbours(numbers, end);
    check_domain<double>(of, numbers);
    check_domain<float>(of, numbers);
  }
}

/// Pieces that lie in one region, for the most part in one, and in every region.
TEST_P(Specials, PiecesOfAnyMixture) {
  for (const double bound : {0.9, 7.0, 9.0, 30.0})
    for (const int each : {1, 2, 7, 255}) {
      std::vector<double> x;
      for (int i = 0; i < 777; ++i) x.push_back(i % each == 0 ? 6.0 + bound * std::sin(i) : -bound * 0.99);
      check_domain<double>({SpecialFunction::airy_ai, of_airy, by_zeta, {}}, x);
      check_domain<double>({SpecialFunction::bessel_y1, of_wave, once, {}}, x);
      check_domain<float>({SpecialFunction::k0e}, x);
    }
}

template <class T>
void check_pairs(SpecialFunction function, const std::vector<double>& first,
                 const std::vector<double>& second, double (*allowed)(SpecialFunction, double, double)) {
  constexpr DType dtype = sizeof(T) == 8 ? DType::f64 : DType::f32;
  std::vector<T> a, b;
  for (const double x : first)
    for (const double y : second) a.push_back(static_cast<T>(x)), b.push_back(static_cast<T>(y));
  std::vector<T> out(a.size());
  ThreadPool pool(2);
  run_special({function, dtype, a.data(), b.data(), out.data(), static_cast<long>(a.size())}, pool);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double exact = scalar_detail::meaning(function, a[i], b[i]);
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(out[i])) << a[i] << ", " << b[i];
    } else if (static_cast<T>(exact) != out[i]) {
      const double rounding = (sizeof(T) == 8 ? 0.0 : 1e-7) * std::fabs(exact);
      EXPECT_LE(std::fabs(out[i] - exact), allowed(function, a[i], b[i]) + rounding)
          << a[i] << ", " << b[i] << ": " << out[i] << " for " << exact;
    }
  }
}

TEST_P(Specials, PolynomialsOfAnyDegree) {
  std::vector<double> x = {0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e200, HUGE_VAL, -HUGE_VAL, std::nan("")},
                      degrees;
  for (int i = 0; i < 60; ++i) x.push_back(9 * std::sin(i)), x.push_back(std::cos(i));
  for (const double special : {-HUGE_VAL, -3.0, -1.0, -0.5, -0.0, 0.5, 1.9, 30.0, 31.0, 400.5, 4999.9, 5000.0,
                               6000.0, 1e19, HUGE_VAL})
    degrees.push_back(special);
  degrees.push_back(std::nan(""));
  for (int i = 0; i < 13; ++i) degrees.push_back(i);
  const auto allowed = [](SpecialFunction f, double at,
                          double degree) {  // both terms of the last step are rounded
    const double n = std::trunc(degree), before = scalar_detail::meaning(f, at, n - 1);
    return 1e-15 * (n + 1) *
           (std::fabs(scalar_detail::meaning(f, at, n)) +
            (2 * std::fabs(at) + 2 * n + 2) * std::fabs(before));
  };
  using enum SpecialFunction;
  for (const SpecialFunction f :
       {chebyshev_t, chebyshev_u, chebyshev_v, chebyshev_w, shifted_chebyshev_t, shifted_chebyshev_u,
        shifted_chebyshev_v, shifted_chebyshev_w, hermite_h, hermite_he, laguerre_l, legendre_p}) {
    SCOPED_TRACE(static_cast<int>(f));
    check_pairs<double>(f, x, degrees, allowed);
    check_pairs<float>(f, x, degrees, allowed);
    check_pairs<float>(f, x, {3.0}, allowed);
  }
}

TEST_P(Specials, ZetaFunction) {
  std::vector<double> s = {1.0,  1.0001, 1.5,    2.0,   3.0, 5.0,  7.3,      20.0,
                           99.0, 999.5,  1500.0, 1e300, 0.5, -1.0, HUGE_VAL, -HUGE_VAL};
  std::vector<double> q = {5e-324, 1e-200, 1e-20,  0.1,   0.5,   1.0,   2.5,      11.5,
                           50.0,   1e3,    1e8,    1e40,  1e300, 0.0,   -0.0,     -0.5,
                           -1.0,   -3.25,  -47.75, -49.5, -50.5, -60.5, HUGE_VAL, -HUGE_VAL};
  s.push_back(std::nan("")), q.push_back(std::nan(""));
  for (int i = 0; i < 40; ++i) q.push_back(9 * std::sin(i));
  const auto allowed = [](SpecialFunction f, double n, double at) {
    const double rest = std::fabs(at - std::rint(at));  // where terms of two signs leave little
    const double largest = at < 0 && rest > 0 ? std::pow(rest, -n) : 0;
    return 4e-15 * (std::fabs(scalar_detail::meaning(f, n, at)) + largest) + 1e-323;
  };
  check_pairs<double>(SpecialFunction::zeta, s, q, allowed);
  check_pairs<float>(SpecialFunction::zeta, s, q, allowed);
}

}  // namespace
}  // namespace tenon::cpu
