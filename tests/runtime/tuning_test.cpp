// What is measured of candidates is kept by what groups compute, and taken by plans.
#include <fstream>

#include "base/error.h"
#include "base/temporary_path.h"
#include "ir/ops/linear.h"
#include "runtime/planner.h"
#include "runtime/tuning/search.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

constexpr const char* conv = R"(graph g(%x: f32[1,32,20,20]) {
  @w : f32[32,32,3,3]
  %1 = conv(%x, @w, pad=1) : f32[1,32,20,20]
  return %1
}
)";

std::shared_ptr<const Plan> plan_of(const std::string& text, const Chooser& choose = least_estimate) {
  const auto graph = graph_of(text);
  return Session(graph, {.device = &cpu_device(), .choose = choose}).plan_for(inputs_of(*graph, {}));
}

const Choice& choice_of(const Plan& plan) {
  for (const Choice& c : plan.choices)
    if (c.candidates.size() > 2) return c;
  throw error("the plan has no choice");
}

// Another candidate than the one with the least estimate.
std::size_t other_of(const Choice& choice) { return choice.taken == 0 ? 1 : 0; }

TEST(Tuning, APlanTakesWhatWasMeasured) {
  const auto plan = plan_of(conv);
  const Choice& choice = choice_of(*plan);
  const CandidateInfo& other = choice.candidates[other_of(choice)];
  Tuning tuning(cpu_device(), 1);
  tuning.put(choice.key, {.candidate = candidate_name(other), .ms = 0.5, .incumbent_ms = 0.7});
  const auto tuned = plan_of(conv, tuning.chooser());
  const Choice& taken = choice_of(*tuned);
  EXPECT_EQ(taken.candidates[taken.taken].kernel, other.kernel);
  EXPECT_EQ(taken.why, "measured: 0.5 ms, that of the least estimate 0.7 ms");
}

TEST(Tuning, WhatIsNoCandidateAnyMoreIsPassedOver) {
  const auto plan = plan_of(conv);
  Tuning tuning(cpu_device(), 1);
  tuning.put(choice_of(*plan).key, {.candidate = "a kernel of another version"});
  const auto tuned = plan_of(conv, tuning.chooser());
  EXPECT_EQ(choice_of(*tuned).taken, choice_of(*plan).taken);
}

TEST(Tuning, GroupsOfOneKeyComputeTheSame) {
  const std::string key = choice_of(*plan_of(conv)).key;
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = conv;
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
    return choice_of(*plan_of(text)).key;
  };
  EXPECT_EQ(changed("%x", "%image"), key);
  EXPECT_EQ(changed("@w", "@weight"), key);
  EXPECT_NE(changed("20,20", "24,24"), key);
  EXPECT_NE(changed("pad=1) : f32[1,32,20,20]", "pad=2) : f32[1,32,22,22]"), key);
}

TEST(Tuning, LinesComeBackAsTheyWere) {
  Tuning tuning(cpu_device(), 2);
  tuning.put("0123456789abcdef",
             {.group = "conv", .candidate = "gemm order 0,2,3,1", .ms = 0.5, .incumbent_ms = 1});
  Tuning again(cpu_device(), 2), of_one_thread(cpu_device(), 1);
  again.read(tuning.lines(), "lines");
  of_one_thread.read(tuning.lines(), "lines");
  EXPECT_EQ(again.lines(), tuning.lines());
  EXPECT_TRUE(of_one_thread.choices().empty());
}

TEST(Tuning, ALineThatIsNoneIsNamed) {
  Tuning good(cpu_device(), 1), tuning(cpu_device(), 1);
  good.put("0123456789abcdef", {.candidate = "gemm"});
  for (const std::string bad : {"{}", "[1]", "no JSON", R"({"schema":"tenon.tuning/1"})"}) {
    try {
      tuning.read(good.lines() + bad + "\n", "tuning.jsonl");
      ADD_FAILURE() << bad;
    } catch (const Error& e) { EXPECT_EQ(e.where(), "tuning.jsonl:2"); }
  }
}

TEST(Tuning, OfSeveralFilesTheLastCounts) {
  TemporaryFolder folder(std::filesystem::temp_directory_path());
  std::vector<TuningLines> files;
  for (const char* kernel : {"first", "second"}) {
    Tuning tuning(cpu_device(), 1);
    tuning.put("0123456789abcdef", {.candidate = kernel});
    if (files.empty()) tuning.put("fedcba9876543210", {.candidate = "only here"});
    std::ofstream(folder.file(kernel)) << tuning.lines();
    files.push_back(read_tuning(folder.file(kernel)));
  }
  Tuning merged(cpu_device(), 1);
  merged.read(merged_tunings(files), "merged");
  ASSERT_EQ(merged.choices().size(), 2U);
  EXPECT_EQ(merged.find("0123456789abcdef")->candidate, "second");
}

TEST(Tuning, EveryCandidateIsMeasuredOnceAndKept) {
  const std::shared_ptr<const Graph> graph = graph_of(R"(graph g(%x: f32[1,32,20,20]) {
  @a : f32[32,32,3,3]
  @b : f32[32,32,3,3]
  %1 = conv(%x, @a, pad=1) : f32[1,32,20,20]
  %2 = conv(%1, @b, pad=1) : f32[1,32,20,20]
  return %2
}
)");
  const std::vector<Tensor> inputs = inputs_of(*graph, {});
  Tuning tuning(cpu_device(), 1);
  const TuneReport report = tune(graph, inputs, cpu_device(), 1, tuning, {.seconds = 40});
  ASSERT_EQ(report.groups.size(), 1U);
  const TunedGroup& group = report.groups[0];
  EXPECT_EQ(group.groups, 2U);
  EXPECT_EQ(group.tried.size(), 2U);
  EXPECT_EQ(report.left, 0U);
  ASSERT_NE(tuning.find(group.key), nullptr);
  EXPECT_EQ(tuning.find(group.key)->candidate, group.taken);
  EXPECT_LT(report.difference, 1e-4);

  const TuneReport known = tune(graph, inputs, cpu_device(), 1, tuning, {.seconds = 40});
  EXPECT_EQ(known.known, 1U);
  EXPECT_TRUE(known.groups[0].tried.empty());
  const TuneReport again = tune(graph, inputs, cpu_device(), 1, tuning, {.seconds = 40, .again = true});
  EXPECT_EQ(again.groups[0].tried.size(), 2U);
}

// What the CPU has for a linear, where the interpreter is estimated to be fastest.
std::vector<Candidate> misjudged(const Planner& planner, const Group& group) {
  std::vector<Candidate> candidates;
  const auto add = [&](Lowering lower) {
    for (Candidate& c : lower(planner, group)) candidates.push_back(std::move(c));
  };
  for (const OpLowering& l : cpu_device().lowerings)
    if (l.op == &op_info<Linear>()) add(l.lower);
  for (const GeneralLowering& l : cpu_device().general) add(l.lower);
  for (Candidate& c : candidates) c.info.seconds = c.info.kernel == "reference" ? 1e-6 : 2e-6;
  return candidates;
}

const Device& cpu_that_misjudges() {
  static const std::vector<OpLowering> lowerings{{&op_info<Linear>(), misjudged}};
  static const Device device = [] {
    Device misjudging = cpu_device();
    misjudging.lowerings = lowerings;
    misjudging.general = {};
    return misjudging;
  }();
  return device;
}

// The interpreter takes a hundred times as long as the kernels: no noise of a busy machine is like that.
constexpr const char* large_product = R"(graph g(%x: f32[64,256]) {
  @w : f32[256,256]
  %1 = linear(%x, @w) : f32[64,256]
  return %1
}
)";

TEST(Tuning, AWrongEstimateIsFound) {
  const std::shared_ptr<const Graph> graph = graph_of(large_product);
  const std::vector<Tensor> inputs = inputs_of(*graph, {});
  Tuning tuning(cpu_that_misjudges(), 1);
  const TuneReport report = tune(graph, inputs, cpu_that_misjudges(), 1, tuning, {.seconds = 40});
  ASSERT_EQ(report.groups.size(), 1U);
  EXPECT_EQ(report.groups[0].incumbent, "reference");
  EXPECT_NE(report.groups[0].taken, "reference");
  EXPECT_LT(report.after_ms, report.before_ms);
  EXPECT_EQ(report.reverted, "");
}

TEST(Tuning, KernelsWhoseOutputsDifferAreNotTaken) {
  const std::shared_ptr<const Graph> graph = graph_of(large_product);
  const std::vector<Tensor> inputs = inputs_of(*graph, {});
  Tuning tuning(cpu_that_misjudges(), 1);
  const TuneReport report = tune(graph, inputs, cpu_that_misjudges(), 1, tuning,
                                 {.seconds = 40, .agrees = [](const auto&, const auto&) { return false; }});
  EXPECT_EQ(report.reverted, "the outputs of faster kernels differ");
  EXPECT_EQ(report.groups[0].taken, "reference");
  ASSERT_NE(tuning.find(report.groups[0].key), nullptr);
  EXPECT_EQ(tuning.find(report.groups[0].key)->candidate, "reference");
}

}  // namespace
}  // namespace tenon::testing
