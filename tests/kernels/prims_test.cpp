// Every primitive, on every compute type and ISA, means what base/scalar.h says; the vector math of floats is
// accurate.
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
      if (x[i] > 0 || std::isnan(x[i])) continue;
      const double exact = std::lgamma(static_cast<double>(x[i]));  // its zeros lie between two floats
      EXPECT_TRUE(y[i] == exact || std::abs(y[i] - exact) <= 0x1p-23 * std::abs(exact) + 1e-15) << x[i];
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
    const T of_all_bits = std::is_same_v<T, double> ? static_cast<T>(std::nan("0xfffffffffffff"))
                                                    : static_cast<T>(std::nanf("0x3fffff"));
    return {0,          T(-0.0),   1,        -1,        T(0.5),
            T(-0.5),    T(1.5),    T(2.5),   T(-2.5),   3,
            -3,         T(0.3),    T(-7.7),  20,        -20,
            100,        -100,      big,      -big,      small,
            -small,     small / 4, infinite, -infinite, std::numeric_limits<T>::quiet_NaN(),
            of_all_bits};
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
