// Statistics of timings: known values, and intervals and tests that hold what their names promise.
#include "base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tenon {
namespace {

TEST(Statistics, QuantilesInterpolate) {
  const std::vector<double> samples{4, 1, 3, 2, 5};
  EXPECT_EQ(median(samples), 3);
  EXPECT_EQ(quantile(samples, 0), 1);
  EXPECT_EQ(quantile(samples, 1), 5);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.9), 4.6);
  EXPECT_EQ(median(std::vector<double>{7}), 7);
}

TEST(Statistics, SummaryIsThatOfTheSamples) {
  const Summary s = summarise(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(s.min, 2);
  EXPECT_EQ(s.max, 9);
  EXPECT_EQ(s.mean, 5);
  EXPECT_EQ(s.median, 4.5);
  EXPECT_NEAR(s.stddev, std::sqrt(32.0 / 7), 1e-12);
  EXPECT_LE(s.ci95.low, s.median);
  EXPECT_GE(s.ci95.high, s.median);
}

// Skewed as latencies are: of 300 intervals, about 95 in 100 hold the true median.
TEST(Statistics, IntervalHoldsTheMedian) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> latency(0, 0.5);
  int held = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<double> samples(60);
    for (double& s : samples) s = latency(random);
    const Interval ci = median_interval(samples);
    held += ci.low <= 1 && 1 <= ci.high;
  }
  EXPECT_GE(held, 265);
  EXPECT_LE(held, 299);
}

TEST(Statistics, IntervalWidensWhenDisturbancesLast) {
  std::vector<double> lasting, alternating;
  for (int i = 0; i < 60; ++i) {
    lasting.push_back(i / 15 % 2 ? 1.5 : 1);
    alternating.push_back(i % 2 ? 1.5 : 1);
  }
  const auto width = [](Interval i) { return i.high - i.low; };
  EXPECT_GE(width(median_interval(lasting)), width(median_interval(alternating)));
}

TEST(Statistics, SignedRanksAreExact) {
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector<double>{1, 2, 3, 4, 5}), 1.0 / 32);
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector<double>{-1, 2, 3, 4, 5}), 2.0 / 32);
  EXPECT_DOUBLE_EQ(signed_rank_p(std::vector<double>{-1, -2, -3}), 1);
  EXPECT_EQ(signed_rank_p({}), 1);
}

// One wild sample does not make an alarm, and symmetric noise is called slower as rarely as the limit says.
TEST(Statistics, SignedRanksBoundFalseAlarms) {
  EXPECT_GT(signed_rank_p(std::vector<double>{1000, -1, -2, 1, 2, -3, 3, -4}), 0.05);
  std::mt19937_64 random(2);
  std::cauchy_distribution<double> noise(0, 1);
  int alarms = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> samples(20);
    for (double& s : samples) s = noise(random);
    alarms += signed_rank_p(samples) < 0.01;
  }
  EXPECT_LE(alarms, 40);
}

TEST(Statistics, RankSumsTellSamplesApart) {
  std::vector<double> low, high;
  for (int i = 0; i < 20; ++i) {
    low.push_back(1 + 0.01 * i);
    high.push_back(1.5 + 0.01 * i);
  }
  EXPECT_LT(rank_sum_p(low, high), 1e-6);
  EXPECT_GT(rank_sum_p(high, low), 0.999);
  EXPECT_NEAR(rank_sum_p(low, low), 0.5, 0.02);
}

TEST(Statistics, HolmRaisesTheSmallestMost) {
  const std::vector<double> p = holm(std::vector<double>{0.01, 0.04, 0.03});
  EXPECT_DOUBLE_EQ(p[0], 0.03);
  EXPECT_DOUBLE_EQ(p[1], 0.06);
  EXPECT_DOUBLE_EQ(p[2], 0.06);
}

}  // namespace
}  // namespace tenon
