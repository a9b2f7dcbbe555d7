// The primitives of doubles are accurate: against long double, in units of the last place.
#include <bit>
#include <numbers>
#include <random>

#include "base/error.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/loop_buffers.h"

namespace tenon::cpu {
namespace {

class DoublePrims : public OnEveryIsa {};
TENON_EVERY_ISA(DoublePrims);

constexpr double inf = std::numeric_limits<double>::infinity();

double ulps(double y, long double exact) {
  if (std::isnan(exact)) return std::isnan(y) ? 0 : inf;
  if (y == static_cast<double>(exact)) return 0;
  const double magnitude = std::fabs(static_cast<double>(exact));
  if (std::isinf(y) || std::isinf(magnitude)) return inf;
  const double ulp = std::nextafter(magnitude, inf) - magnitude;
  return static_cast<double>(std::fabs(y - exact) / ulp);
}

template <class T>
std::vector<T> run_unary(Prim prim, const std::vector<T>& x) {
  constexpr DType type = std::is_same_v<T, double> ? DType::f64 : DType::f32;
  LoopProgram p(std::string(name(prim)), {static_cast<std::int64_t>(x.size())});
  p.store({1, type, {1}}, p.prim(prim, p.load({0, type, {1}})));
  LoopBuffers buffers(p);
  std::copy(x.begin(), x.end(), buffers.as<T>(0).begin());
  ThreadPool pool(1);
  buffers.run(pool);
  return {buffers.as<T>(1).begin(), buffers.as<T>(1).end()};
}

std::vector<double> run_binary_of_doubles(Prim prim, const std::vector<double>& a,
                                          const std::vector<double>& b) {
  LoopProgram p(std::string(name(prim)), {static_cast<std::int64_t>(a.size())});
  const Reg left = p.load({0, DType::f64, {1}}), right = p.load({1, DType::f64, {1}});
  p.store({2, DType::f64, {1}}, p.prim(prim, left, right));
  LoopBuffers buffers(p);
  std::copy(a.begin(), a.end(), buffers.as<double>(0).begin());
  std::copy(b.begin(), b.end(), buffers.as<double>(1).begin());
  ThreadPool pool(1);
  buffers.run(pool);
  return {buffers.as<double>(2).begin(), buffers.as<double>(2).end()};
}

/// The inverse of erf by Newton's steps in long double.
long double exact_erfinv(long double x) {
  if (std::isnan(x) || std::fabs(x) > 1) return std::nanl("");
  if (std::fabs(x) == 1) return x * inf;
  constexpr long double slope = 2 * std::numbers::inv_sqrtpi_v<long double>;
  long double y = static_cast<long double>(apply<double>(Prim::erfinv, static_cast<double>(x)));
  for (int step = 0; step < 2 && x != 0; ++step) {
    const long double error = std::fabs(x) < 0.5L ? std::erf(y) - x
                              : x > 0             ? (1 - x) - std::erfc(y)
                                                  : std::erfc(-y) - (1 + x);
    y -= error / (slope * std::exp(-y * y));
  }
  return y;
}
/// The derivative of lgamma for x > 0, in long double.
long double exact_digamma(long double x) {
  long double below = 0;
  for (; x < 30; x += 1) below += 1 / x;
  const long double s = 1 / (x * x);
  const long double series =
      s * (1 / 12.0L - s * (1 / 120.0L - s * (1 / 252.0L - s * (1 / 240.0L - s / 132.0L))));
  return std::log(x) - 0.5L / x - series - below;
}

TEST_P(DoublePrims, DigammaIsAccurate) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-40, 40);
  std::vector<double> x = {1e-300, 1e-100, 0x1p-501, 1e300, 0.5, 1, 2, 9.999999999999998, 10};
  for (int i = 0; i < 100'000; ++i) x.push_back(std::exp2(exponent(random)));
  const std::vector<double> y = run_unary(Prim::digamma, x);
  std::vector<float> narrow;
  for (const double v : x)
    if (v > 1e-37 && v < 1e37) narrow.push_back(static_cast<float>(v));
  const std::vector<float> of_floats = run_unary(Prim::digamma, narrow);
  for (std::size_t i = 0; i < x.size();
       ++i) {  // around its zero, errors count as those of the sum it is made of
    const long double exact = exact_digamma(x[i]);
    EXPECT_LE(std::fabs(y[i] - exact), 0x1p-50L * std::max(2.0L, std::fabs(exact))) << x[i];
  }
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    const long double exact = exact_digamma(narrow[i]);
    EXPECT_LE(std::fabs(of_floats[i] - exact), 0x1p-23L * std::fabs(exact) + 0x1p-50L) << narrow[i];
  }
  std::uniform_real_distribution<double> below(-30, 0);
  std::vector<double> negative = {-1e-300, -0.5, -3, -1e10, -1e300};
  for (int i = 0; i < 10'000; ++i) negative.push_back(below(random));
  const std::vector<double> of_negative = run_unary(Prim::digamma, negative);
  for (std::size_t i = 0; i < negative.size(); ++i) {
    const long double whole = std::rint(negative[i]), rest = negative[i] - whole,
                      pi = std::numbers::pi_v<long double>;
    if (rest == 0) {
      EXPECT_TRUE(std::isnan(of_negative[i])) << negative[i];
      continue;
    }
    const long double exact =
        exact_digamma(1 - static_cast<long double>(negative[i])) - pi / std::tan(pi * rest);
    EXPECT_LE(std::fabs(of_negative[i] - exact), 0x1p-49L * std::max(4.0L, std::fabs(exact))) << negative[i];
  }
  const std::vector<double> special = {0.0, -0.0, -1.0, -0.5, inf, std::nan(""), 3.0};
  const std::vector<double> of_special = run_unary(Prim::digamma, special);
  for (std::size_t i = 0; i < special.size(); ++i)
    EXPECT_LE(ulps(of_special[i], static_cast<long double>(apply<double>(Prim::digamma, special[i]))), 4)
        << special[i];
}

TEST_P(DoublePrims, LogarithmsOfTheGammaFunctionAreAccurate) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> exponent(-60, 60), near(0, 12), below(-30, 0);
  std::vector<double> x = {
      1, 2, 0x1p-501, 1e300, 2.6e305, 0.75, 2.25, 10.25, 0.9999999999999999, 2.0000000000000004};
  for (int i = 0; i < 50'000; ++i) x.push_back(i % 2 ? std::exp2(exponent(random)) : near(random));
  const std::vector<double> y = run_unary(Prim::lgamma, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_LE(ulps(y[i], std::lgamma(static_cast<long double>(x[i]))), 4) << x[i];
  std::vector<double> others = {0.0, -0.0, -1.0, -7.0, -1e300, -1e-310, -0.5, inf, -inf, std::nan("")};
  for (int i = 0; i < 10'000; ++i) others.push_back(below(random));
  const std::vector<double> of_others = run_unary(Prim::lgamma, others);
  for (std::size_t i = 0; i < others.size(); ++i) {
    const double exact = std::lgamma(others[i]);
    if (of_others[i] == exact || (std::isnan(exact) && std::isnan(of_others[i]))) continue;
    EXPECT_LE(std::fabs(of_others[i] - exact), 1e-14 * std::max(1.0, std::fabs(exact))) << others[i];
  }
}

TEST_P(DoublePrims, PowersOfTwoOfAnyExponent) {
  std::vector<double> a, b;
  for (const double factor : {1.0, -3.0, 0.0, -0.0, 5e-324, 1.7e308, inf, std::nan("")})
    for (const double exponent : {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1023.0, 1023.9, 1024.0, -1022.0, -1060.25,
                                  -1074.0, -1075.5, -2000.0, 1e300, -1e300, inf, -inf, std::nan("")})
      a.push_back(factor), b.push_back(exponent);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-1080, 1030), near(-2, 2);
  for (int i = 0; i < 100'000; ++i) a.push_back(1), b.push_back(i % 2 ? exponent(random) : near(random));
  for (int i = -1074; i < 1024; ++i) a.push_back(1), b.push_back(i);
  const std::vector<double> y = run_binary_of_doubles(Prim::ldexp, a, b), power = run_unary(Prim::exp2, b);
  std::vector<float> narrow;
  for (const double v : b) narrow.push_back(static_cast<float>(v / 8));
  const std::vector<float> power_of_floats = run_unary(Prim::exp2, narrow);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double of_two = std::rint(b[i]) == b[i] ? std::exp2(b[i]) : power[i];
    EXPECT_LE(ulps(power[i], std::exp2(static_cast<long double>(b[i]))), 1.1) << b[i];
    EXPECT_EQ(ulps(power[i], static_cast<long double>(of_two)), 0) << b[i];
    EXPECT_LE(ulps(y[i], static_cast<long double>(a[i] * power[i])), 1) << a[i] << " 2^" << b[i];
    const float of_float = power_of_floats[i], exact = std::exp2(narrow[i]);
    EXPECT_TRUE(of_float == exact || (std::isnan(of_float) && std::isnan(exact)) ||
                std::fabs(of_float - exact) <= std::fmax(1.5e-45f, exact * 1.6e-7f))
        << narrow[i];
  }
}

TEST_P(DoublePrims, PowersOfDoublesAreAccurate) {
  std::vector<double> a, b;
  const std::vector<double> special = {
      0,       -0.0,    1,        -1,     2,        -2,           3,
      -3,      0.5,     -0.5,     inf,    -inf,     std::nan(""), 5e-324,
      -5e-324, 1.7e308, -1.7e308, 1e-310, 0.999999, 1e20,         9007199254740993.0,
      1e300,   -1e300};
  for (const double base : special)
    for (const double exponent : special) a.push_back(base), b.push_back(exponent);
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> binary(-60, 60), near(-1, 1), result(-1074, 1024);
  for (int i = 0; i < 200'000; ++i) {
    const double base = i % 2 ? std::exp2(binary(random)) : 1 + near(random) * std::exp2(-0.25 * (i % 160));
    a.push_back(std::fabs(base) == 0 ? 0.5 : std::fabs(base));
    b.push_back(i % 3 ? result(random) / std::log2(a.back() == 1 ? 2 : a.back()) : near(random) * 8);
  }
  const std::vector<double> y = run_binary_of_doubles(Prim::pow, a, b);
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const long double exact = std::pow(static_cast<long double>(a[i]), static_cast<long double>(b[i]));
    const double error = ulps(y[i], exact);
    if (i < special.size() * special.size()) {
      EXPECT_LE(error, 1.0) << a[i] << " to " << b[i] << " is " << y[i];
      if (!std::isnan(y[i])) { EXPECT_EQ(std::signbit(y[i]), std::signbit(exact)) << a[i] << " to " << b[i]; }
    }
    // Next to the largest number, which of it and infinity is nearer is a matter of the last place.
    if (std::fabs(exact) < 0x1.fffffffffffp1023L) worst = std::max(worst, error);
  }
  EXPECT_LE(worst, 1.2);
  RecordProperty("pow_f64", std::to_string(worst));
}

TEST_P(DoublePrims, FunctionsOfDoublesAreAccurate) {
  std::mt19937_64 random(5);
  std::vector<double> x = {0,  -0.0, inf,      -inf, std::nan(""), 1e-300, -1e-300, 5e-324,
                           22, 300,  300.0001, -40,  709.78,       709.79, 1e300,   -708.5};
  std::uniform_real_distribution<double> exponent(-40, 10), far(-745, 710);
  for (int i = 0; i < 100'000; ++i) {
    x.push_back(std::exp2(exponent(random)) * (i % 2 ? 1 : -1));
    x.push_back(far(random));
  }
  // Zeros of sine and cosine, and what is next to them.
  std::vector<double> angles = {0, -0.0, 1e-300, -5e-324};
  std::uniform_real_distribution<double> angle(-1e6, 1e6);
  for (int i = 0; i < 100'000; ++i) {
    angles.push_back(std::exp2(exponent(random)));
    angles.push_back(angle(random));
    const double zero = static_cast<double>(i * 1.57079632679489661923132169163975144L);
    for (const double near : {zero, std::nextafter(zero, 1e7), -std::nextafter(zero, 0.0)})
      angles.push_back(near);
  }
  // Both ends of [-1, 1], and what is next to them.
  std::vector<double> ends = {0, -0.0, 1, -1, 1.5, inf, std::nan(""), 1e-300, -5e-324};
  for (int i = 0; i < 100'000; ++i) {
    ends.push_back(std::uniform_real_distribution<double>(-1, 1)(random));
    ends.push_back(std::copysign(1 - std::exp2(-0.00053 * i), i % 2 ? 1 : -1));
  }
  struct Function {
    Prim prim;
    long double (*exact)(long double);
    double max_ulps;
    const std::vector<double>& at;
    double low = -inf;
  };
  // sigmoid: below -709 exp(-x) overflows, as it does in torch, and the subnormal result is lost.
  for (const Function& f :
       {Function{Prim::exp, std::exp, 1.0, x},
        {Prim::exp2, std::exp2, 1.1, x},
        {Prim::expm1, std::expm1, 2.0, x},
        {Prim::sinh, std::sinh, 3.0, x},
        {Prim::cosh, std::cosh, 3.0, x},
        {Prim::tanh, std::tanh, 2.5, x},
        {Prim::log, std::log, 1.0, x},
        {Prim::log2, std::log2, 2.0, x},
        {Prim::log10, std::log10, 2.5, x},
        {Prim::asinh, std::asinh, 3.0, x},
        {Prim::acosh, std::acosh, 3.0, x},
        {Prim::atanh, std::atanh, 3.0, x},
        {Prim::log1p, std::log1p, 2.0, x},
        {Prim::asin, std::asin, 2.5, x},
        {Prim::acos, std::acos, 2.0, x},
        {Prim::atan, std::atan, 2.5, x},
        {Prim::sigmoid, [](long double v) { return 1 / (1 + std::exp(-v)); }, 2.4, x, -708},
        {Prim::erf, std::erf, 2.0, x},
        {Prim::erfc, std::erfc, 4.5, x},
        {Prim::erfinv, exact_erfinv, 3.0, ends},
        {Prim::sin, std::sin, 1.0, angles},
        {Prim::cos, std::cos, 1.0, angles},
        {Prim::tan, std::tan, 2.5, angles}}) {
    const std::vector<double> y = run_unary(f.prim, f.at);
    double worst = 0, where = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (f.at[i] < f.low) continue;
      const double error = ulps(y[i], f.exact(f.at[i]));
      if (error > worst) worst = error, where = f.at[i];
      if (f.at[i] == 0 && !std::isnan(y[i])) {
        EXPECT_EQ(std::signbit(y[i]), std::signbit(f.exact(f.at[i]))) << name(f.prim);
      }
    }
    EXPECT_LE(worst, f.max_ulps) << name(f.prim) << " at " << where;
    RecordProperty(std::string(name(f.prim)) + "_f64", std::to_string(worst));
  }
}

TEST_P(DoublePrims, SineAndCosineOfHugeDoublesAndOfInfinity) {
  const std::vector<double> x = {1e7, -3e15, 1e300, inf, -inf, 1000000.5, 0.5, std::nan(""), 2};
  for (const Prim p : {Prim::sin, Prim::cos}) {
    const std::vector<double> y = run_unary(p, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_LE(ulps(y[i], p == Prim::sin ? std::sin(static_cast<long double>(x[i]))
                                          : std::cos(static_cast<long double>(x[i]))),
                1)
          << name(p) << x[i];
  }
}

// Alone, and beside a pair whose quotient is too large for the vector code.
TEST_P(DoublePrims, RestsOfDoublesAreExact) {
  std::vector<double> a = {-6, 6, 0, -0.0, 5e-324, 1e300, 1.5e308, 7, -7, 2},
                      b = {3, 3, 5, 5, 3, 1e285, 1e308, -2, 2, std::nextafter(2.0, 3.0)};
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> near(-20, 20);
  for (int i = 0; i < 50'000; ++i) {
    b.push_back(near(random));
    a.push_back(i % 2 ? near(random) : b.back() * static_cast<double>(random() % 1'000'000));
    if (i % 4 == 0) a.back() = std::nextafter(a.back(), i % 8 ? inf : -inf);
  }
  for (const bool beside_others : {false, true}) {
    if (beside_others)
      for (const auto& [x, y] : {std::pair{1e300, 1e-300}, {1.0, 0.0}, {inf, 2.0}, {3.0, inf}, {2.0, -inf}}) {
        a.insert(a.begin() + 3, x);
        b.insert(b.begin() + 3, y);
      }
    for (const Prim prim : {Prim::fmod, Prim::remainder, Prim::floor_div, Prim::nextafter}) {
      const std::vector<double> results = run_binary_of_doubles(prim, a, b);
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double got = results[i], want = apply<double>(prim, a[i], b[i]);
        ASSERT_EQ(std::isnan(got), std::isnan(want)) << name(prim) << " " << a[i] << ", " << b[i];
        if (std::isnan(want)) continue;
        ASSERT_EQ(got, want) << name(prim) << " " << a[i] << ", " << b[i];
        ASSERT_EQ(std::signbit(got), std::signbit(want)) << name(prim) << " " << a[i] << ", " << b[i];
      }
    }
  }
}

TEST_P(DoublePrims, FunctionsOfTwoDoublesAreAccurate) {
  std::vector<double> a, b;
  const std::vector<double> corners = {0,     -0.0,    1,        -1,  5e-324, -5e-324,     1e-300,
                                       1e300, 1.7e308, -1.7e308, inf, -inf,   std::nan("")};
  for (const double x : corners)
    for (const double y : corners) a.push_back(x), b.push_back(y);
  std::mt19937_64 random(10);
  std::uniform_real_distribution<double> exponent(-40, 40);
  for (int i = 0; i < 50'000; ++i) {
    a.push_back(std::exp2(exponent(random)) * (i % 2 ? 1 : -1));
    b.push_back(std::exp2(exponent(random)) * (i % 4 < 2 ? 1 : -1));
  }
  for (const auto& [prim, max_ulps] : {std::pair{Prim::atan2, 2.5}, {Prim::hypot, 1.5}}) {
    const std::vector<double> results = run_binary_of_doubles(prim, a, b);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const long double exact =
          prim == Prim::atan2 ? std::atan2(static_cast<long double>(a[i]), static_cast<long double>(b[i]))
                              : std::hypot(static_cast<long double>(a[i]), static_cast<long double>(b[i]));
      const double got = results[i];
      ASSERT_LE(ulps(got, exact), max_ulps) << name(prim) << " " << a[i] << ", " << b[i];
      if (exact == 0) {
        ASSERT_EQ(std::signbit(got), std::signbit(exact)) << name(prim) << " " << a[i] << ", " << b[i];
      }
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
