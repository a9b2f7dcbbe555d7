// Every primitive, on every compute type and ISA, means what base/scalar.h says; the vector math is accurate.
#include <bit>
#include <numbers>
#include <random>

#include "base/error.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/loop_buffers.h"

namespace tenon::cpu {
namespace {

class Prims : public OnEveryIsa {};
TENON_EVERY_ISA(Prims);

constexpr float inf = std::numeric_limits<float>::infinity();

/// |actual - exact| in units of the last place of the float nearest to exact; 0 for equal specials.
double ulps(float actual, double exact) {
  const auto nearest = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(actual) ? 0 : 1e9;
  if (actual == nearest || std::isinf(nearest) || !std::isfinite(actual)) {
    // Next to the overflow threshold infinity is one step away from the largest float.
    if (actual == nearest) return 0;
    constexpr double largest = std::numeric_limits<float>::max();
    return std::fabs(exact) > largest * (1 - 1e-6) && std::fabs(actual) > largest * (1 - 1e-6) ? 1 : 1e9;
  }
  const int exponent = std::max(std::ilogb(nearest == 0 ? 1e-45f : nearest), -126);
  return std::fabs(static_cast<double>(actual) - exact) / std::ldexp(1.0, exponent - 23);
}

std::vector<float> run_unary(Prim p, const std::vector<float>& x) {
  LoopProgram program;
  program.name = std::string(name(p));
  program.shape.dims = {static_cast<std::int64_t>(x.size())};
  program.store({1, DType::f32, {1}}, program.prim(p, program.load({0, DType::f32, {1}})));
  LoopBuffers buffers(program);
  std::copy(x.begin(), x.end(), buffers.as<float>(0).begin());
  ThreadPool pool(1);
  buffers.run(pool);
  return {buffers.as<float>(1).begin(), buffers.as<float>(1).end()};
}

/// Floats of all magnitudes in [low, high], evenly spread over the bit patterns, and the special ones.
std::vector<float> samples(float low, float high) {
  std::vector<float> result;
  for (std::uint64_t b = 0; b < (1ull << 32); b += 8209) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(b));
    if (x >= low && x <= high) result.push_back(x);
  }
  constexpr int even = 100000;
  const double from = std::max(-1000.0f, low);
  const double to = std::min(1000.0f, high);
  for (int i = 0; i <= even; ++i) result.push_back(static_cast<float>(from + (to - from) * i / even));
  for (const float x : {0.0f, -0.0f, 1e-45f, -1e-45f, 1e-38f, 1.0f, -1.0f, 3.4028235e38f, -3.4028235e38f, inf,
                        -inf, std::numeric_limits<float>::quiet_NaN()})
    result.push_back(x);
  return result;
}

struct Accuracy {
  Prim prim;
  double max_ulps;
  float low = -inf;
  float high = inf;
};

TEST_P(Prims, VectorMathIsAccurateOverItsWholeRange) {
  // sigmoid: below -87 exp(-x) overflows, as it does in torch, and the subnormal result is lost.
  for (const Accuracy& a : {Accuracy{Prim::exp, 1.3},
                            {Prim::exp2, 1.5},
                            {Prim::expm1, 2.0},
                            {Prim::log, 1.5},
                            {Prim::log2, 2.5},
                            {Prim::log10, 2.5},
                            {Prim::log1p, 2.5},
                            {Prim::sin, 2.0, -12000, 12000},
                            {Prim::cos, 2.0, -12000, 12000},
                            {Prim::tanh, 5.0},
                            {Prim::erf, 7.0},
                            {Prim::erfc, 7.0},
                            {Prim::erfinv, 4.0, -1, 1},
                            {Prim::tan, 4.5, -12000, 12000},
                            {Prim::asin, 2.5},
                            {Prim::acos, 2.0},
                            {Prim::atan, 2.2},
                            {Prim::sinh, 3.0},
                            {Prim::cosh, 2.5},
                            {Prim::asinh, 3.5},
                            {Prim::acosh, 3.5},
                            {Prim::atanh, 3.5},
                            {Prim::sigmoid, 2.7, -87.0f, inf},
                            {Prim::sqrt, 0.51},
                            {Prim::rsqrt, 1.6},
                            {Prim::recip, 0.51}}) {
    const std::vector<float> x = samples(a.low, a.high);
    const std::vector<float> y = run_unary(a.prim, x);
    double worst = 0;
    float where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] < a.low && std::isfinite(x[i])) continue;
      const double error = ulps(y[i], apply<double>(a.prim, x[i]));
      if (error <= worst) continue;
      worst = error;
      where = x[i];
    }
    EXPECT_LE(worst, a.max_ulps) << name(a.prim) << " at " << where;
    RecordProperty(std::string(name(a.prim)), std::to_string(worst));
  }
}

double ulps(double y, long double exact) {
  if (std::isnan(exact)) return std::isnan(y) ? 0 : inf;
  if (y == static_cast<double>(exact)) return 0;
  const double magnitude = std::fabs(static_cast<double>(exact));
  if (std::isinf(y) || std::isinf(magnitude)) return inf;
  const double ulp = std::nextafter(magnitude, inf) - magnitude;
  return static_cast<double>(std::fabs(y - exact) / ulp);
}

std::vector<double> run_unary(Prim prim, const std::vector<double>& x) {
  LoopProgram p(std::string(name(prim)), {static_cast<std::int64_t>(x.size())});
  p.store({1, DType::f64, {1}}, p.prim(prim, p.load({0, DType::f64, {1}})));
  LoopBuffers buffers(p);
  std::copy(x.begin(), x.end(), buffers.as<double>(0).begin());
  ThreadPool pool(1);
  buffers.run(pool);
  return {buffers.as<double>(1).begin(), buffers.as<double>(1).end()};
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

TEST_P(Prims, DigammaIsAccurate) {
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
  const std::vector<double> special = {0.0, -0.0, -1.0, -0.5, inf, std::nan(""), 3.0};
  const std::vector<double> of_special = run_unary(Prim::digamma, special);
  for (std::size_t i = 0; i < special.size(); ++i)
    EXPECT_LE(ulps(of_special[i], static_cast<long double>(apply<double>(Prim::digamma, special[i]))), 4)
        << special[i];
}

TEST_P(Prims, PowersOfDoublesAreAccurate) {
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

TEST_P(Prims, FunctionsOfDoublesAreAccurate) {
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
        {Prim::log10, std::log10, 2.0, x},
        {Prim::asinh, std::asinh, 3.0, x},
        {Prim::acosh, std::acosh, 3.0, x},
        {Prim::atanh, std::atanh, 3.0, x},
        {Prim::log1p, std::log1p, 2.0, x},
        {Prim::asin, std::asin, 2.5, x},
        {Prim::acos, std::acos, 2.0, x},
        {Prim::atan, std::atan, 2.5, x},
        {Prim::sigmoid, [](long double v) { return 1 / (1 + std::exp(-v)); }, 2.4, x, -708},
        {Prim::erf, std::erf, 2.0, x},
        {Prim::erfc, std::erfc, 4.0, x},
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

TEST_P(Prims, SineAndCosineOfHugeDoublesAndOfInfinity) {
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

TEST_P(Prims, LogarithmsOfTheGammaFunctionAreAccurate) {
  std::vector<float> positive = {1,      2,      std::nextafter(1.0f, 0.0f), std::nextafter(2.0f, 3.0f),
                                 1e-45f, 3.4e38f};
  for (const float v : samples(0, inf))
    if (v > 0 && v < inf) positive.push_back(v);
  for (const std::vector<float>& x : {positive, samples(-20, 20)}) {
    const std::vector<float> y = run_unary(Prim::lgamma, x);
    double worst = 0;
    float where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], std::lgamma(static_cast<double>(x[i])));
      if (x[i] > 0 && error > worst) worst = error, where = x[i];
      if (!(x[i] > 0)) { EXPECT_TRUE(y[i] == std::lgamma(x[i]) || std::isnan(y[i])) << x[i]; }
    }
    EXPECT_LE(worst, 5) << where;
    RecordProperty("lgamma", std::to_string(worst));
  }
}

// Random pairs: of close sizes, of any sizes, and quotients next to integers.
std::vector<std::pair<float, float>> random_pairs() {
  std::mt19937 random(7);
  std::vector<std::pair<float, float>> pairs;
  std::uniform_real_distribution<float> near(-20, 20);
  const auto any = [&] {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    return std::isnan(x) ? inf : x;
  };
  for (int i = 0; i < 40'000; ++i) {
    pairs.emplace_back(near(random), near(random));
    pairs.emplace_back(any(), any());
    const float b = near(random), a = b * static_cast<float>(random() % 1000);
    pairs.emplace_back(std::nextafter(a, i % 2 ? inf : -inf), b);
    pairs.emplace_back(a, b);
  }
  return pairs;
}

// Alone, and beside a pair whose quotient is too large for the vector code.
TEST_P(Prims, RestsOfDoublesAreExact) {
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

TEST_P(Prims, FunctionsOfTwoDoublesAreAccurate) {
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

TEST_P(Prims, FunctionsOfTwoAreAccurate) {
  const auto pairs = random_pairs();
  const auto n = static_cast<std::int64_t>(pairs.size());
  for (const auto& [prim, max_ulps] : {std::pair{Prim::pow, 0.7},
                                       {Prim::atan2, 3.0},
                                       {Prim::hypot, 2.0},
                                       {Prim::fmod, 0.0},
                                       {Prim::remainder, 0.0},
                                       {Prim::floor_div, 0.0},
                                       {Prim::trunc_div, 0.0},
                                       {Prim::fmin, 0.0},
                                       {Prim::fmax, 0.0},
                                       {Prim::nextafter, 0.0},
                                       {Prim::copysign, 0.0}}) {
    LoopProgram program;
    program.name = std::string(name(prim));
    program.shape.dims = {n};
    const Reg a = program.load({0, DType::f32, {1}}), b = program.load({1, DType::f32, {1}});
    program.store({2, DType::f32, {1}}, program.prim(prim, a, b));
    LoopBuffers buffers(program);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      buffers.as<float>(0)[i] = pairs[i].first;
      buffers.as<float>(1)[i] = pairs[i].second;
    }
    ThreadPool pool(1);
    buffers.run(pool);
    double worst = 0;
    std::pair<float, float> where;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto [x, y] = pairs[i];
      const double exact = max_ulps == 0 ? apply<float>(prim, x, y) : apply<double>(prim, x, y);
      const double error = ulps(buffers.as<float>(2)[i], exact);
      if (error > worst) worst = error, where = pairs[i];
    }
    EXPECT_LE(worst, max_ulps) << name(prim) << " of " << where.first << " and " << where.second;
    RecordProperty(std::string(name(prim)), std::to_string(worst));
  }
}

TEST_P(Prims, GeluIsWithinTwoMillionthsOfTheTruth) {
  const std::vector<float> x = samples(-10, 10);
  LoopProgram p;
  p.name = "gelu";
  p.shape.dims = {static_cast<std::int64_t>(x.size())};
  const Reg v = p.load({0, DType::f32, {1}});
  const Reg erf = p.prim(Prim::erf, p.prim(Prim::mul, v, p.constant(std::sqrt(0.5))));
  p.store({1, DType::f32, {1}},
          p.prim(Prim::mul, p.prim(Prim::mul, v, p.constant(0.5)), p.prim(Prim::add, erf, p.constant(1))));
  LoopBuffers buffers(p);
  std::copy(x.begin(), x.end(), buffers.as<float>(0).begin());
  ThreadPool pool(1);
  buffers.run(pool);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = 0.5 * x[i] * (1 + std::erf(x[i] * std::sqrt(0.5)));
    if (!(std::fabs(x[i]) <= 10)) continue;
    EXPECT_NEAR(buffers.as<float>(1)[i], exact, 2e-6) << x[i];
  }
}

TEST_P(Prims, TanhAndErfReachOne) {
  for (const Prim p : {Prim::tanh, Prim::erf}) {
    const std::vector<float> x = {10, -10, 2000, -2000, 1e38f, -1e38f, inf, -inf};
    const std::vector<float> y = run_unary(p, x);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], x[i] > 0 ? 1 : -1) << name(p) << x[i];
  }
}

TEST_P(Prims, SineAndCosineOfHugeAnglesAndOfInfinity) {
  for (const Prim p : {Prim::sin, Prim::cos}) {
    const std::vector<float> x = {1e5f, -3e7f, 1e30f, inf, -inf, 12000.5f, 0.5f, 1.0f, 2.0f};
    const std::vector<float> y = run_unary(p, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_LE(ulps(y[i], apply<double>(p, x[i])), 2) << name(p) << x[i];
  }
}

template <class T>
std::vector<T> special_values() {
  if constexpr (std::is_same_v<T, bool>) return {false, true};
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return {0, 1, -1, 2, -2, 3, -3, 7, -7, 62, 63, 64, 1000003, INT64_MAX, INT64_MIN, INT64_MIN + 1};
  }
  if constexpr (std::is_integral_v<T> && sizeof(T) < 8 && !std::is_same_v<T, bool>) {
    constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    return {0, 1, T(-1), 2, T(-2), 3, 7, T(-7), 8, 15, 16, 31, 32, 33, high, T(high - 1), low, T(low + 1)};
  }
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T big = std::numeric_limits<T>::max();
    constexpr T infinite = std::numeric_limits<T>::infinity();
    constexpr T small = std::numeric_limits<T>::min();
    return {0,       T(-0.0),   1,        -1,        T(0.5),
            T(-0.5), T(1.5),    T(2.5),   T(-2.5),   3,
            -3,      T(0.3),    T(-7.7),  20,        -20,
            100,     -100,      big,      -big,      small,
            -small,  small / 4, infinite, -infinite, std::numeric_limits<T>::quiet_NaN()};
  }
}

/// The loops of p on T over all triples (pairs, singles) of special values, and on broadcast operands.
template <class T>
void check_prim(Prim p, DType type) {
  std::vector<T> values = special_values<T>();
  if (std::is_integral_v<T> && divides(p)) std::erase(values, T(0));
  const auto n = static_cast<std::int64_t>(values.size());
  const PrimKind kind = info(p).kind;
  const bool test = kind == PrimKind::test;
  LoopProgram program;
  program.name = std::string(name(p));
  program.shape.dims = {n, n};
  const Reg a = program.load({0, type, {1, 0}});
  const Reg b = program.load({0, type, {0, 1}});
  Reg result = -1;
  if (kind == PrimKind::select) {
    result = program.prim(p, program.prim(Prim::lt, a, b), a, b);
  } else {
    result = arity(p) == 1 ? program.prim(p, b) : program.prim(p, a, b);
  }
  program.store({1, test ? DType::boolean : type, {n, 1}}, result);
  LoopBuffers buffers(program);
  std::copy(values.begin(), values.end(), buffers.as<T>(0).begin());
  ThreadPool pool(1);
  buffers.run(pool);
  for (std::int64_t i = 0; i < n * n; ++i) {
    const T x = values[static_cast<std::size_t>(i / n)];
    const T y = values[static_cast<std::size_t>(i % n)];
    T expected{};
    if (kind == PrimKind::select) {
      expected = x < y ? x : y;
    } else {
      expected = arity(p) == 1 ? apply<T>(p, y) : apply<T>(p, x, y);
    }
    const Number actual = buffers.at(1, i);
    if constexpr (std::is_floating_point_v<T>) {
      if (!test) {
        const auto value = static_cast<T>(actual.real);
        if (value == expected || (std::isnan(value) && std::isnan(expected))) continue;
        const double exact = arity(p) == 1 ? apply<double>(p, y) : apply<double>(p, x, y);
        const double error = std::is_same_v<T, float>
                                 ? ulps(static_cast<float>(value), exact)
                                 : ulps(static_cast<double>(value), static_cast<long double>(exact));
        EXPECT_LE(error, 8) << name(p) << "(" << x << ", " << y << ") = " << value << " instead of "
                            << expected;
        continue;
      }
    }
    EXPECT_EQ(actual.whole, static_cast<std::int64_t>(expected)) << name(p) << "(" << x << ", " << y << ")";
  }
}

TEST_P(Prims, MeanWhatTheScalarTableSays) {
  for (const PrimInfo& row : prim_table) {
    if (row.kind == PrimKind::cast) continue;
    if (row.kind != PrimKind::bits) {
      check_prim<float>(row.prim, DType::f32);
      check_prim<double>(row.prim, DType::f64);
    }
    if (row.kind == PrimKind::real) continue;
    check_prim<std::int8_t>(row.prim, DType::i8);
    check_prim<std::uint8_t>(row.prim, DType::u8);
    check_prim<std::int16_t>(row.prim, DType::i16);
    check_prim<std::int32_t>(row.prim, DType::i32);
    check_prim<std::int64_t>(row.prim, DType::i64);
    check_prim<bool>(row.prim, DType::boolean);
  }
}

TEST_P(Prims, IntegersDividedByZeroAreAnErrorOnAnyThread) {
  for (const Prim p : {Prim::floor_div, Prim::trunc_div, Prim::remainder, Prim::fmod}) {
    constexpr std::int64_t n = 1 << 16;
    LoopProgram program;
    program.name = std::string(name(p));
    program.shape.dims = {n};
    const Reg x = program.load({0, DType::i32, {1}});
    program.store({1, DType::i32, {1}}, program.prim(p, program.constant_int(7), x));
    for (const int threads : {1, 3})
      for (const std::int64_t zero : {std::int64_t{-1}, std::int64_t{0}, n / 2, n - 1}) {
        LoopBuffers buffers(program);
        auto values = buffers.as<std::int32_t>(0);
        std::fill(values.begin(), values.end(), 3);
        if (zero >= 0) values[static_cast<std::size_t>(zero)] = 0;
        ThreadPool pool(threads);
        if (zero < 0)
          buffers.run(pool);
        else
          EXPECT_THROW(buffers.run(pool), Error) << name(p);
      }
  }
}

}  // namespace
}  // namespace tenon::cpu
