// Running folds of every type, by lines and by columns.
#include "kernels/cpu/scan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class Scans : public OnEveryIsa {};
TENON_EVERY_ISA(Scans);

using Fold = Scan::Fold;

template <class T>
T joined(Fold fold, T run, T next) {
  switch (fold) {
    case Fold::prod: return run * next;
    case Fold::max: return std::max(run, next);
    case Fold::min: return std::min(run, next);
    default: return run + next;
  }
}

template <class T>
void check(DType dtype, Fold fold, long outer, long length, long inner) {
  std::vector<T> x(static_cast<std::size_t>(outer * length * inner)), y(x.size() + 1, T{9});
  std::vector<std::int64_t> places(y.size(), 9);
  const bool multiplies = fold == Fold::prod;
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(multiplies ? 1 - 2 * static_cast<int>(i % 3 == 0) : static_cast<int>(i % 11) - 5);
  static ThreadPool pool(2);
  scan({.fold = fold,
        .dtype = dtype,
        .outer = outer,
        .length = length,
        .inner = inner,
        .x = x.data(),
        .y = y.data(),
        .places = places.data()},
       pool);
  ASSERT_EQ(y.back(), T{9});
  ASSERT_EQ(places.back(), 9);
  for (long o = 0; o < outer; ++o)
    for (long c = 0; c < inner; ++c) {
      T run{};
      long place = 0;
      for (long i = 0; i < length; ++i) {
        const auto at = static_cast<std::size_t>((o * length + i) * inner + c);
        run = i == 0 ? x[at] : joined(fold, run, x[at]);
        if (run == x[at]) place = i;
        ASSERT_EQ(y[at], run) << o << " " << i << " " << c;
        if (fold == Fold::max || fold == Fold::min) {
          ASSERT_EQ(places[at], place) << o << " " << i << " " << c;
        }
      }
    }
}

TEST_P(Scans, EveryShapeAndType) {
  for (const Fold fold : {Fold::sum, Fold::prod, Fold::max, Fold::min})
    for (const long outer : {1, 7, 8, 39})
      for (const long length : {1, 2, 33, 70})
        for (const long inner : {1, 3, 64, 65, 130, 1100}) {
          check<float>(DType::f32, fold, outer, length, inner);
          check<double>(DType::f64, fold, outer, length, inner);
          check<std::int32_t>(DType::i32, fold, outer, length, inner);
          check<std::int64_t>(DType::i64, fold, outer, length, inner);
        }
}

TEST_P(Scans, FloatsAreFoldedInDouble) {
  const std::vector<float> x = {1e8F, 1, 1, 1, 1, 1, 1, 1, 1, -1e8F};
  std::vector<float> y(x.size());
  ThreadPool pool(1);
  scan({.length = 10, .x = x.data(), .y = y.data()}, pool);
  EXPECT_EQ(y.back(), 8.0F);
}

// Of 32 equal numbers side by side nothing is better, and then everything.
TEST_P(Scans, ExtremesOfRunsOfNumbers) {
  const float nan = std::nanf("");
  std::vector<float> x(100, 1.0F);
  x[40] = 3, x[41] = 2, x[70] = nan, x[71] = 9, x[99] = nan;
  std::vector<float> y(x.size());
  std::vector<std::int64_t> places(x.size());
  ThreadPool pool(1);
  scan({.fold = Fold::max, .length = 100, .x = x.data(), .y = y.data(), .places = places.data()}, pool);
  for (long i = 0; i < 100; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const long place = i < 40 ? i : i < 70 ? 40 : i < 99 ? 70 : 99;
    ASSERT_EQ(places[at], place);
    ASSERT_EQ(std::isnan(y[at]), i >= 70);
    if (i < 70) { ASSERT_EQ(y[at], x[static_cast<std::size_t>(place)]); }
  }
}

TEST_P(Scans, LogarithmsOfSumsOfFarNumbers) {
  const double infinite = HUGE_VAL;
  const std::vector<double> x = {-infinite, -infinite, -1000, -1000, 700, 700, -5, infinite, infinite, 0};
  const std::vector<double> expected = {
      -infinite, -infinite, -1000,   -1000 + std::log(2.0), 700, 700 + std::log(2.0), 700 + std::log(2.0),
      infinite,  infinite,  infinite};
  for (const long lines : {1, 40}) {
    std::vector<double> all, y(x.size() * static_cast<std::size_t>(lines));
    for (long l = 0; l < lines; ++l) all.insert(all.end(), x.begin(), x.end());
    ThreadPool pool(1);
    scan({.fold = Fold::log_sum_exp,
          .dtype = DType::f64,
          .outer = lines,
          .length = 10,
          .x = all.data(),
          .y = y.data()},
         pool);
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (std::isinf(expected[i % 10]))
        ASSERT_EQ(y[i], expected[i % 10]);
      else
        ASSERT_NEAR(y[i], expected[i % 10], 1e-12);
    }
  }
}

// Where the larger one is zero, all digits are those of the smaller one's exponential.
TEST_P(Scans, LogarithmsOfSumsNearOne) {
  std::vector<double> x, y(80);
  for (long l = 0; l < 40; ++l) x.insert(x.end(), {0.0, static_cast<double>(-l)});
  ThreadPool pool(1);
  scan({.fold = Fold::log_sum_exp,
        .dtype = DType::f64,
        .outer = 40,
        .length = 2,
        .x = x.data(),
        .y = y.data()},
       pool);
  for (long l = 0; l < 40; ++l) {
    const double expected = std::log1p(std::exp(static_cast<double>(-l)));
    ASSERT_NEAR(y[static_cast<std::size_t>(2 * l + 1)], expected, 1e-15 * expected) << l;
  }
}

}  // namespace
}  // namespace tenon::cpu
