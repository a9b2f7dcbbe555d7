// Comparisons name what became slower, and only that.
#include "report/compare.h"

#include <algorithm>
#include <random>

#include "ir/ops/conv.h"
#include "report/compare_runs.h"
#include "tests/faults.h"
#include "tests/runtime/graphs.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

Recording::Step step(std::string op, std::vector<std::string> modules) {
  return {std::move(op), Source{.modules = modules}.modules_text(), modules};
}

/// Samples of steps that take these times, under noise that both sides of a block share.
RunSamples noisy(const std::vector<double>& ms, int blocks, unsigned seed) {
  std::mt19937 shared(1), own(seed);
  std::lognormal_distribution<double> drift(0, 0.3), jitter(0, 0.03);
  RunSamples samples;
  samples.step_ms.resize(ms.size());
  for (int b = 0; b < blocks; ++b) {
    const double speed = drift(shared);
    double total = 0;
    for (std::size_t s = 0; s < ms.size(); ++s) {
      samples.step_ms[s].push_back(ms[s] * speed * jitter(own));
      total += samples.step_ms[s].back();
    }
    samples.total_ms.push_back(total);
  }
  return samples;
}

Recording recording(const std::vector<double>& ms, unsigned seed) {
  Recording r{.label = "model", .samples = noisy(ms, 20, seed)};
  for (std::size_t s = 0; s < ms.size(); ++s) r.steps.push_back(step("conv", {"layer" + std::to_string(s)}));
  return r;
}

TEST(MatchSteps, SameFusionsAreMatchedStepByStep) {
  const std::vector steps{step("conv", {"a"}), step("relu", {"a"}), step("linear", {"b"})};
  const auto matches = match_steps(steps, steps);
  ASSERT_EQ(matches.size(), 3u);
  EXPECT_EQ(matches[1].before, std::vector<std::size_t>{1});
  EXPECT_EQ(matches[1].after, std::vector<std::size_t>{1});
}

TEST(MatchSteps, OtherFusionsAreMatchedAsAWhole) {
  const std::vector before{step("conv", {"conv1"}), step("relu", {"act"}), step("linear", {"fc"})};
  const std::vector after{step("conv+relu", {"conv1", "act"}), step("linear", {"fc"})};
  const auto matches = match_steps(before, after);
  ASSERT_EQ(matches.size(), 2u);
  EXPECT_EQ(matches[0].before, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(matches[0].after, std::vector<std::size_t>{0});
  EXPECT_EQ(matches[0].name, "{conv1,act}");
}

TEST(Compare, TimeWithoutACounterpartIsShown) {
  Recording before = recording({8, 2}, 1), after = recording({8, 2}, 2);
  after.steps[1].modules = {"elsewhere"};
  const Comparison c = compare_paired(before, after);
  EXPECT_NEAR(c.unmatched_before, 0.2, 0.02);
  EXPECT_NEAR(c.unmatched_after, 0.2, 0.02);
}

TEST(Compare, NamesTheOneStepThatIsSlower) {
  const Comparison c = compare_paired(recording({4, 3, 2, 1}, 1), recording({4, 3, 2.6, 1}, 2));
  EXPECT_TRUE(c.slower());
  EXPECT_FALSE(c.steps[0].slower);
  EXPECT_TRUE(c.steps[2].slower);
  EXPECT_EQ(c.steps[2].name, "layer2");
  EXPECT_NEAR(c.steps[2].ratio, 1.3, 0.05);
  EXPECT_LE(c.steps[2].ci95.low, 1.3);
  EXPECT_GE(c.steps[2].ci95.high, 1.3);
}

TEST(Compare, NoiseIsNoAlarm) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const std::vector<double> same(40, 1.0);
    EXPECT_FALSE(compare_paired(recording(same, seed), recording(same, seed + 1000)).slower()) << seed;
  }
}

TEST(Compare, StoredProfilesNeedMore) {
  EXPECT_TRUE(compare_stored(recording({4, 3, 2, 1}, 1), recording({40, 3, 2, 1}, 2)).slower());
  // A machine that was 30% slower for some of the second profile's runs.
  Recording busy = recording({4, 3, 2, 1}, 2);
  for (auto* samples : {&busy.samples.total_ms, &busy.samples.step_ms[0]})
    for (std::size_t i = 5; i < samples->size(); ++i) (*samples)[i] *= 1.3;
  EXPECT_FALSE(compare_stored(recording({4, 3, 2, 1}, 1), busy).slower());
}

TEST(Compare, AnAlarmMustBeConfirmed) {
  Comparison first = compare_paired(recording({4, 3}, 1), recording({6, 3}, 2));
  ASSERT_TRUE(first.slower());
  confirm(first, compare_paired(recording({4, 3}, 3), recording({4, 3}, 4)));
  EXPECT_FALSE(first.slower());
  EXPECT_EQ(first.rounds, 2);
}

void delay_layer1(Planner& planner, const Group& group) {
  delay(planner, group, "layer1", std::chrono::microseconds(300));
}

constexpr const char* two_convs = R"(graph g(%x: f32[N,3,20,20]) {
  @a : f32[16,3,3,3]
  @b : f32[24,16,3,3]
  %1 = fused conv(%x, @a, pad=1) { relu } : f32[N,16,20,20] # stem.conv
  %2 = fused conv(%1, @b, pad=1) { relu } : f32[N,24,20,20] # layer1.conv
  return %2
}
)";

TEST(Compare, ASlowKernelIsCaughtAndNamed) {
  const Device& slowed = faulty_device<Conv, delay_layer1>("slow");
  const auto graph = graph_of(two_convs);
  const auto inputs = inputs_of(*graph, {{"N", 1}});
  const Comparison c = compare_running({"now", graph, inputs, {}},
                                       {"slowed", graph, inputs, {.device = &slowed}}, {.turn_ms = 2});
  EXPECT_TRUE(c.total.slower);
  const auto slowest = std::max_element(c.steps.begin(), c.steps.end(),
                                        [](const auto& a, const auto& b) { return a.ratio < b.ratio; });
  EXPECT_TRUE(slowest->slower);
  EXPECT_EQ(slowest->name, "layer1.conv");
  EXPECT_GT(c.rounds, 1);
}

}  // namespace
}  // namespace tenon::testing
