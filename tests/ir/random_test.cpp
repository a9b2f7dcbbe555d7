// Random numbers: the generator's known answers, streams, seeds, and the distributions drawn from it.
#include "ir/random.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "base/philox.h"
#include "ir/ops/functions.h"
#include "ir/ops/random.h"
#include "tests/ir/ops/cases.h"

namespace tenon::test {
namespace {

// Of Random123's kat_vectors.
TEST(Random, PhiloxGivesItsKnownAnswers) {
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::vector<std::int64_t> bits(RandomBits op, std::vector<Tensor> step = {}) {
  const Tensor t = evaluate(op, step)[0];
  return {t.data<std::int64_t>(), t.data<std::int64_t>() + t.numel()};
}

TEST(Random, ElementsAreTheWordsOfTheCounter) {
  const auto words = bits({.shape = {5}, .bits = 32});
  EXPECT_EQ(words[0], 0x6627e8d5);
  EXPECT_EQ(words[3], 0x9b00dbd8);
  EXPECT_EQ(words[4], philox({1, 0, 0, 0}, {0, 0})[0]);
  EXPECT_EQ(bits({.shape = {1}, .bits = 24})[0], 0x6627e8);
  const auto wide = bits({.shape = {3}, .bits = 63});
  EXPECT_EQ(wide[0], static_cast<std::int64_t>(0x6627e8d5e169c58d >> 1));
  EXPECT_EQ(static_cast<std::uint32_t>(wide[2] >> 31), philox({1, 0, 0, 0}, {0, 0})[0]);
}

TEST(Random, SeedStreamAndStepChangeTheNumbers) {
  const auto first = bits({.shape = {4}});
  EXPECT_EQ(first, bits({.shape = {4}}));
  EXPECT_NE(first, bits({.shape = {4}, .seed = 1}));
  EXPECT_NE(first, bits({.shape = {4}, .seed = std::int64_t{1} << 32}));
  EXPECT_NE(first, bits({.shape = {4}, .stream = 1}));
  EXPECT_EQ(first, bits({.shape = {4}}, {Tensor::scalar(DType::i64, std::int64_t{0})}));
  EXPECT_NE(first, bits({.shape = {4}}, {Tensor::scalar(DType::i64, std::int64_t{1})}));
}

TEST(Random, WhatIsNoNumberOfBitsIsRefused) {
  EXPECT_NE(error_of("random_bits(shape=2, bits=64)", {}, {"i64[2]"}).find("64 bits"), std::string::npos);
  EXPECT_NE(error_of("random_bits(%0, shape=2)", {"f32[]"}, {"i64[2]"}).find("step"), std::string::npos);
}

// The values of one result of what `draw` adds to a graph.
std::vector<double> drawn(const std::function<Ref(const InsertionPoint&)>& draw, std::uint64_t seed = 0) {
  Graph graph;
  const InsertionPoint point{&graph.body(), nullptr, {}};
  graph.body().add_result(cast(DType::f64, draw(point)).value());
  set_seed(graph, seed);
  const Tensor t = evaluate(graph, {})[0].contiguous();
  return {t.data<double>(), t.data<double>() + t.numel()};
}

double mean_of(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}
double variance_of(const std::vector<double>& x) {
  const double m = mean_of(x);
  double total = 0;
  for (const double v : x) total += (v - m) * (v - m);
  return total / static_cast<double>(x.size());
}

const Shape many = {Dim(100000)};

// Within five standard errors of what the distribution has.
void expect_moments(const std::vector<double>& x, double mean, double variance, double fourth) {
  const double n = static_cast<double>(x.size());
  EXPECT_NEAR(mean_of(x), mean, 5 * std::sqrt(variance / n));
  EXPECT_NEAR(variance_of(x), variance, 5 * std::sqrt((fourth - variance * variance) / n));
}

TEST(Random, DistributionsHaveTheirMeansAndVariances) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    expect_moments(drawn([&](const InsertionPoint& p) { return uniform(many, dtype, p); }), 0.5, 1.0 / 12,
                   1.0 / 80);
    expect_moments(drawn([&](const InsertionPoint& p) { return standard_normal(many, dtype, p); }), 0, 1, 3);
    expect_moments(drawn([&](const InsertionPoint& p) { return exponential(many, dtype, p); }), 1, 1, 9);
  }
  const auto coin = [](const InsertionPoint& p) {
    return bernoulli(many, Ref(p.region->literal(DType::f32, 0.3), p), p);
  };
  expect_moments(drawn(coin), 0.3, 0.21, 0.21 * (1 - 3 * 0.21));
}

TEST(Random, UniformNumbersLieBelowOneInEveryFloat) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64})
    for (const double u : drawn([&](const InsertionPoint& p) { return uniform(many, dtype, p); })) {
      EXPECT_GE(u, 0);
      EXPECT_LT(u, 1);
    }
}

// Pearson's statistic of counts that are expected to be equal: mean k - 1, deviation sqrt(2 (k - 1)).
double chi_square(const std::vector<double>& counts) {
  const double expected = mean_of(counts);
  double total = 0;
  for (const double c : counts) total += (c - expected) * (c - expected) / expected;
  return total;
}

TEST(Random, IntegersAndUniformNumbersAreEvenlySpread) {
  constexpr std::size_t classes = 64;
  const auto bound = [](const InsertionPoint& p, std::int64_t v) {
    return Ref(p.region->literal(Tensor::scalar(DType::i64, v)), p);
  };
  std::vector<double> of_integers(classes), of_uniform(classes);
  for (const double x : drawn(
           [&](const InsertionPoint& p) { return random_integers(many, bound(p, -10), bound(p, 54), p); }, 7))
    ++of_integers.at(static_cast<std::size_t>(x + 10));
  for (const double u : drawn([](const InsertionPoint& p) { return uniform(many, DType::f32, p); }, 7))
    ++of_uniform.at(static_cast<std::size_t>(u * classes));
  const double most = classes - 1 + 5 * std::sqrt(2.0 * (classes - 1));
  EXPECT_LT(chi_square(of_integers), most);
  EXPECT_LT(chi_square(of_uniform), most);
}

TEST(Random, WideRangesOfIntegersAreFilledToo) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  const std::pair<std::int64_t, std::int64_t> ranges[] = {
      {lowest, -(lowest + 1)},
      {-(std::int64_t{1} << 62), (std::int64_t{1} << 62) + 5},
      {lowest, lowest},
      {0, lowest}};
  for (const auto& [low, high] : ranges) {
    const bool has_end = high > low;
    std::int64_t below_middle = 0;
    const double middle = has_end   ? (static_cast<double>(low) + static_cast<double>(high)) / 2
                          : low < 0 ? 0
                                    : 0x1p62;
    for (const double x : drawn([&, lo = low, hi = high](const InsertionPoint& p) {
           const auto bound = [&](std::int64_t v) {
             return Ref(p.region->literal(Tensor::scalar(DType::i64, v)), p);
           };
           return random_integers(many, bound(lo), bound(hi), p);
         })) {
      EXPECT_GE(x, static_cast<double>(low));
      if (has_end) { EXPECT_LE(x, static_cast<double>(high)); }
      below_middle += x < middle;
    }
    EXPECT_NEAR(static_cast<double>(below_middle), 50000, 2000) << low << " " << high;
  }
}

TEST(Random, AClassOfNoWeightIsNeverDrawn) {
  const auto drawn_of = [](std::int64_t classes) {
    return drawn([&](const InsertionPoint& p) {
      Tensor w = Tensor::zeros(DType::f32, {classes});
      w.set_double(std::array{std::int64_t{3}}, 1);
      return multinomial(Ref(p.region->graph().add_weight("w", w), p), Dim(500), true);
    });
  };
  for (const double x : drawn_of(100'000)) EXPECT_EQ(x, 3);
}

TEST(Random, NodesAreIndependentOfEachOther) {
  Graph graph;
  const InsertionPoint point{&graph.body(), nullptr, {}};
  const Ref a = standard_normal(many, DType::f64, point), b = standard_normal(many, DType::f64, point);
  graph.body().add_result(a.value());
  graph.body().add_result(b.value());
  const auto results = evaluate(graph, {});
  double total = 0;
  for (std::int64_t i = 0; i < results[0].numel(); ++i)
    total += results[0].data<double>()[i] * results[1].data<double>()[i];
  EXPECT_LT(std::abs(total / static_cast<double>(results[0].numel())), 5 / std::sqrt(100000.0));
}

TEST(Random, MultinomialFollowsItsWeightsAndAPermutationHoldsEachOnce) {
  const auto weights = [](const InsertionPoint& p) {
    Value* w = p.region->graph().add_weight("w", tensor("f32[4] 1 2 0 5"));
    return Ref(w, p);
  };
  std::vector<double> counts(4);
  for (const double x :
       drawn([&](const InsertionPoint& p) { return multinomial(weights(p), Dim(20000), true); }))
    ++counts.at(static_cast<std::size_t>(x));
  EXPECT_EQ(counts[2], 0);
  EXPECT_NEAR(counts[0], 2500, 250);
  EXPECT_NEAR(counts[1], 5000, 320);
  const auto without = drawn([&](const InsertionPoint& p) { return multinomial(weights(p), Dim(3), false); });
  EXPECT_EQ(std::set<double>(without.begin(), without.end()), (std::set<double>{0, 1, 3}));
  const auto order = drawn([](const InsertionPoint& p) { return permutation(Dim(1000), p); });
  EXPECT_EQ(std::set<double>(order.begin(), order.end()).size(), 1000);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
}

TEST(Random, DropoutKeepsTheMean) {
  const auto results =
      run("dropout(%0, p=0.25, stream=1)", {"f32[100000] 1"}, {"f32[100000]", "bool[100000]"});
  double total = 0;
  for (std::int64_t i = 0; i < results[0].numel(); ++i) {
    const double y = results[0].data<float>()[i];
    EXPECT_TRUE(y == 0 || std::abs(y - 4.0 / 3) < 1e-6);
    EXPECT_EQ(y != 0, results[1].data<bool>()[i]);
    total += y;
  }
  EXPECT_NEAR(total / 100000, 1, 5 * std::sqrt(1.0 / 3 / 100000));
}

TEST(Random, DropoutOfChannelsDropsThemWhole) {
  const Tensor y =
      run("dropout(%0, whole_channels=true)", {"f32[8,8,5] 1"}, {"f32[8,8,5]", "bool[8,8,5]"})[0];
  for (std::int64_t c = 0; c < 64; ++c)
    for (std::int64_t i = 1; i < 5; ++i) EXPECT_EQ(y.data<float>()[c * 5], y.data<float>()[c * 5 + i]);
}

TEST(Random, AlphaDropoutKeepsMeanAndVariance) {
  const auto kept = [](const InsertionPoint& p) {
    return dropout(standard_normal(many, DType::f32, p), 0.3, false, true)[0];
  };
  const auto y = drawn(kept);
  EXPECT_NEAR(mean_of(y), 0, 0.02);
  EXPECT_NEAR(variance_of(y), 1, 0.03);
}

TEST(Random, OutputsThatDependOnRandomNumbersAreKnown) {
  const auto graph = parse(R"(graph t(%x: f32[4]) {
  %1 = random_bits(shape=4, stream=3) : i64[4]
  %2 = relu(%x) : f32[4]
  %3 = cast(%1, to=f32) : f32[4]
  %4 = add(%2, %3) : f32[4]
  return %2, %4
}
)");
  EXPECT_EQ(random_outputs(*graph), (std::vector<bool>{false, true}));
}

TEST(Random, ALoopDrawsOthersAtEachStep) {
  const auto loop = parse(R"(graph t() {
  %2 = loop(true:bool, carried=0, limit=3) (%i: i64[]) {
    %1 = random_bits(%i, shape=2, stream=1) : i64[2]
    return true:bool, %1
  } : i64[3,2]
  return %2
}
)");
  const Tensor rows = evaluate(*loop, {})[0];
  const std::set<std::int64_t> different(rows.data<std::int64_t>(), rows.data<std::int64_t>() + 6);
  EXPECT_EQ(different.size(), 6);
}

}  // namespace
}  // namespace tenon::test
