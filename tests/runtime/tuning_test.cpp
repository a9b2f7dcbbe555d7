// What is measured of candidates is kept by what groups compute, and taken by plans.
#include <fstream>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/temporary_path.h"
#include "ir/ops/control.h"
#include "ir/ops/linear.h"
#include "runtime/planner.h"
#include "runtime/tuning/group_places.h"
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

// Ends when all is tried.
const TuneOptions quick{.seconds = 60, .most_blocks = 3};

std::set<std::string> names_of(const TunedGroup& group) {
  std::set<std::string> names;
  for (const TunedGroup::Tried& t : group.tried) names.insert(t.candidate);
  return names;
}

// Those that were tried by their own rule.
std::size_t kernels_of(const TunedGroup& group) {
  return static_cast<std::size_t>(std::ranges::count_if(
      group.tried, [](const auto& t) { return t.candidate.find(" (") == std::string::npos; }));
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

TEST(Tuning, APlanRunsByTheScheduleThatWasMeasured) {
  const auto plan = plan_of(conv);
  const Choice& choice = choice_of(*plan);
  const std::string name =
      candidate_name(choice.candidates[other_of(choice)], {.block = Schedule::Block::half});
  Tuning tuning(cpu_device(), 1);
  tuning.put(choice.key, {.candidate = name});
  const auto tuned = plan_of(conv, tuning.chooser());
  const Choice& taken = choice_of(*tuned);
  EXPECT_EQ(candidate_name(taken.candidates[taken.taken]), name);
  const Step& step = *tuned->steps[taken.first_step + taken.steps - 1];
  EXPECT_EQ(step.schedule, Schedule{.block = Schedule::Block::half});
  EXPECT_EQ(step.info.kernel, choice.candidates[other_of(choice)].kernel + " (block=half)");
}

TEST(Tuning, AScheduleThatTheKernelDoesNotHaveIsPassedOver) {
  const auto plan = plan_of(conv);
  const Choice& choice = choice_of(*plan);
  for (const char* schedule : {"(block=thrice)", "(knob=half)", "(block=half"}) {
    Tuning tuning(cpu_device(), 1);
    CandidateInfo other = choice.candidates[other_of(choice)];
    other.kernel += std::string(" ") + schedule;
    tuning.put(choice.key, {.candidate = candidate_name(other)});
    const auto tuned = plan_of(conv, tuning.chooser());
    EXPECT_EQ(choice_of(*tuned).taken, choice_of(*plan).taken) << schedule;
  }
}

TEST(Tuning, WhatIsNoCandidateAnyMoreIsPassedOver) {
  const auto plan = plan_of(conv);
  Tuning tuning(cpu_device(), 1);
  tuning.put(choice_of(*plan).key, {.candidate = "a kernel of another version"});
  const auto tuned = plan_of(conv, tuning.chooser());
  EXPECT_EQ(choice_of(*tuned).taken, choice_of(*plan).taken);
}

constexpr const char* fused = R"(graph g(%x: f32[64,256], %r: f32[64,256]) {
  @w : f32[256,256]
  %1 = fused linear(%x, @w) { add(_, %r); relu } : f32[64,256]
  return %1
}
)";

TEST(Tuning, APlanTakesTheSplitThatWasMeasured) {
  const auto plan = plan_of(fused);
  Tuning tuning(cpu_device(), 1), read(cpu_device(), 1);
  tuning.put(plan->choices[0].key, {.candidate = "split before add", .ms = 0.5, .incumbent_ms = 0.7});
  read.read(tuning.lines(), "lines");
  const auto tuned = plan_of(fused, read.chooser());
  const Choice& choice = tuned->choices[0];
  EXPECT_EQ(choice.candidates[choice.taken].kernel, "split before add");
  EXPECT_EQ(choice.why, "measured: 0.5 ms, that of the least estimate 0.7 ms");
  EXPECT_GT(tuned->steps.size(), plan->steps.size());
  EXPECT_NE(tuned->text().find("[loop] add+relu"), std::string::npos) << tuned->text();
}

TEST(Tuning, ASplitThatIsNoneAnyMoreIsPassedOver) {
  const auto plan = plan_of(fused);
  for (const char* split : {"split before gelu", "split before add 2", "split before linear"}) {
    Tuning tuning(cpu_device(), 1);
    tuning.put(plan->choices[0].key, {.candidate = split});
    EXPECT_EQ(plan_of(fused, tuning.chooser())->text(), plan->text()) << split;
  }
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
  tuning.put("0123456789abcdef", {.group = "conv",
                                  .candidate = "gemm (outer=rows) order 0,2,3,1",
                                  .ms = 0.5,
                                  .incumbent_ms = 1,
                                  .tried = {"winograd4 order 0,2,3,1"}});
  Tuning again(cpu_device(), 2), of_one_thread(cpu_device(), 1);
  again.read(tuning.lines(), "lines");
  of_one_thread.read(tuning.lines(), "lines");
  EXPECT_EQ(again.lines(), tuning.lines());
  EXPECT_TRUE(of_one_thread.choices().empty());
}

TEST(Tuning, LinesThatDoNotSayWhatWasTriedAreRead) {
  Tuning tuning(cpu_device(), 1);
  tuning.put("0123456789abcdef", {.candidate = "gemm", .tried = {"packing gemm"}});
  std::string line = tuning.lines();
  const std::size_t at = line.find(",\"tried\"");
  line.erase(at, line.find(']', at) + 1 - at);
  Tuning read(cpu_device(), 1);
  read.read(line, "lines");
  ASSERT_NE(read.find("0123456789abcdef"), nullptr);
  EXPECT_EQ(read.find("0123456789abcdef")->candidate, "gemm");
  EXPECT_TRUE(read.find("0123456789abcdef")->tried.empty());
}

TEST(Tuning, ADeviceThatRoundsFactorsIsAnother) {
  Device rounds = cpu_device();
  rounds.takes_tf32 = true;
  Tuning exact(cpu_device(), 1), rounded(rounds, 1);
  rounded.put("0123456789abcdef", {.candidate = "gemm"});
  exact.read(rounded.lines(), "lines");
  EXPECT_TRUE(exact.choices().empty());
}

// The text with one part in the place of another, without the end of its line.
std::string changed(std::string text, const std::string& part, const std::string& other) {
  text.replace(text.find(part), part.size(), other);
  text.pop_back();
  return text;
}

TEST(Tuning, ALineThatIsNoneIsNamed) {
  Tuning good(cpu_device(), 1), tuning(cpu_device(), 1);
  good.put("0123456789abcdef", {.candidate = "gemm"});
  for (const std::string& bad :
       std::vector<std::string>{"{}", "[1]", "no JSON", R"({"schema":"tenon.tuning/1"})",
                                changed(good.lines(), R"("ms":0.0)", R"("ms":-1.0)"),
                                changed(good.lines(), R"("threads":1)", R"("threads":0)")}) {
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
  const TuneReport report = tune(graph, inputs, cpu_device(), 1, tuning, quick);
  ASSERT_EQ(report.groups.size(), 1U);
  const TunedGroup& group = report.groups[0];
  EXPECT_EQ(group.groups, 2U);
  EXPECT_EQ(kernels_of(group), 3U);
  EXPECT_GT(group.tried.size(), 2U);  // and the settings of one
  EXPECT_EQ(names_of(group).size(), group.tried.size());
  EXPECT_EQ(report.left, 0U);
  ASSERT_NE(tuning.find(group.key), nullptr);
  EXPECT_EQ(tuning.find(group.key)->candidate, group.taken);
  EXPECT_LT(report.difference, 1e-4);

  const TuneReport known = tune(graph, inputs, cpu_device(), 1, tuning, quick);
  EXPECT_EQ(known.known, 1U);
  EXPECT_TRUE(known.groups[0].tried.empty());
  const TuneReport again =
      tune(graph, inputs, cpu_device(), 1, tuning, {.seconds = 60, .again = true, .most_blocks = 3});
  EXPECT_EQ(kernels_of(again.groups[0]), 3U);
}

// Interrupted after its first round: the cache then holds what was tried, but for what was fastest and is not
// confirmed.
TEST(Tuning, ASearchThatIsInterruptedGoesOnWhereItWas) {
  const std::shared_ptr<const Graph> graph = graph_of(conv);
  const std::vector<Tensor> inputs = inputs_of(*graph, {});
  struct Interrupted {};
  Tuning tuning(cpu_device(), 1), kept(cpu_device(), 1);
  TuneOptions options = quick;
  options.keep = [&](const Tuning& found) {
    kept.read(found.lines(), "found");
    throw Interrupted();
  };
  EXPECT_THROW(tune(graph, inputs, cpu_device(), 1, tuning, options), Interrupted);
  ASSERT_EQ(kept.choices().size(), 1U);
  const auto& [key, choice] = *kept.choices().begin();
  const std::vector<std::string> tried = choice.tried;
  const auto plan = plan_of(conv);
  const Choice& planned = choice_of(*plan);
  EXPECT_EQ(choice.candidate, candidate_name(planned.candidates[planned.taken]));

  const TuneReport rest = tune(graph, inputs, cpu_device(), 1, kept, quick);
  EXPECT_EQ(rest.measured, 1U);
  for (const std::string& name : tried) EXPECT_FALSE(names_of(rest.groups[0]).contains(name)) << name;
  EXPECT_EQ(names_of(rest.groups[0]).size() + tried.size(), kept.find(key)->tried.size());
}

// One step runs the region: what is tried in it is measured by the time of that step.
TEST(Tuning, GroupsOfRegionsAreMeasured) {
  const std::shared_ptr<const Graph> graph = graph_of(R"(graph g(%x: f32[8,64]) {
  @w : f32[64,64]
  %1 = loop(true:bool, %x, carried=1, limit=4) (%i: i64[], %a: f32[8,64]) {
    %2 = linear(%a, @w) : f32[8,64]
    %3 = softmax(%2, axis=1) : f32[8,64]
    return true:bool, %3
  } : f32[8,64]
  return %1
}
)");
  const std::vector<Tensor> inputs = inputs_of(*graph, {});
  Tuning tuning(cpu_device(), 1);
  const TuneReport report = tune(graph, inputs, cpu_device(), 1, tuning, quick);
  ASSERT_FALSE(report.groups.empty());
  EXPECT_EQ(report.measured, report.groups.size());
  for (const TunedGroup& group : report.groups) EXPECT_FALSE(group.tried.empty()) << group.group;
}

TEST(Tuning, GroupsBehindSizesOfDataAreMeasured) {
  const std::shared_ptr<const Graph> graph = graph_of(R"(graph g(%x: f32[64,64]) {
  @w : f32[64,64]
  %1 = sum(%x, axes=1) : f32[64]
  %2 = greater(%1, 0.0) : bool[64]
  %3 = nonzero(%2, count=?0) : i64[?0,1]
  %4 = reshape(%3, shape=?0) : i64[?0]
  %5 = index_select(%x, %4) : f32[?0,64]
  %6 = linear(%5, @w) : f32[?0,64]
  return %6
}
)");
  const std::vector<Tensor> inputs = inputs_of(*graph, {});
  Tuning tuning(cpu_device(), 1);
  const TuneReport report = tune(graph, inputs, cpu_device(), 1, tuning, quick);
  const auto linear =
      std::ranges::find_if(report.groups, [](const TunedGroup& g) { return g.group.starts_with("linear"); });
  ASSERT_NE(linear, report.groups.end());
  EXPECT_FALSE(linear->tried.empty());
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
  const TuneReport report = tune(graph, inputs, cpu_that_misjudges(), 1, tuning, quick);
  ASSERT_EQ(report.groups.size(), 1U);
  EXPECT_EQ(report.groups[0].incumbent, "reference");
  EXPECT_NE(report.groups[0].taken, "reference");
  EXPECT_LT(report.after_ms, report.before_ms);
  EXPECT_EQ(report.reverted, "");
}

class Pause : public Step {
 public:
  void run(const Frame&) const override { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }
};

// What the CPU has; groups take longer.
std::vector<Candidate> slow_groups(const Planner& planner, const Group& group) {
  std::vector<Candidate> candidates;
  const auto add = [&](Lowering lower) {
    for (Candidate& c : lower(planner, group)) candidates.push_back(std::move(c));
  };
  for (const OpLowering* l : cpu_device().lowerings_of(group)) add(l->lower);
  for (const GeneralLowering& l : cpu_device().general) add(l.lower);
  if (!group.node().is<Fused>()) return candidates;
  for (Candidate& c : candidates)
    c.emit = [emit = std::move(c.emit)](Planner& p, const Group& g) {
      p.prepare(std::make_unique<Pause>(), {}, {});
      emit(p, g);
    };
  return candidates;
}

TEST(Tuning, ASplitThatIsFasterIsTakenAndKept) {
  static constexpr GeneralLowering general{"slow groups", slow_groups, [](const Op&) { return true; }};
  static constexpr auto nothing = [](const Planner&, const Group&) { return std::vector<Candidate>(); };
  static const OpLowering linear{&op_info<Linear>(), nothing};
  Device device = cpu_device();
  device.lowerings = {&linear, 1};  // or the group would hold its parts
  device.general = {&general, 1};
  const std::shared_ptr<const Graph> graph = graph_of(R"(graph g(%x: f32[64,256]) {
  @w : f32[256,256]
  %1 = fused linear(%x, @w) { relu } : f32[64,256]
  return %1
}
)");
  const std::vector<Tensor> inputs = inputs_of(*graph, {});
  Tuning tuning(device, 1);
  const TuneReport report = tune(graph, inputs, device, 1, tuning, quick);
  ASSERT_EQ(report.groups.size(), 1U);
  EXPECT_EQ(report.groups[0].taken, "split before relu");
  EXPECT_EQ(report.reverted, "");
  EXPECT_LT(report.after_ms, report.before_ms);
  ASSERT_NE(tuning.find(report.groups[0].key), nullptr);
  EXPECT_EQ(tuning.find(report.groups[0].key)->candidate, "split before relu");
  EXPECT_EQ(tune(graph, inputs, device, 1, tuning, quick).known, 1U);
}

// One key's groups are split while another one's, which compute what a part does, have candidates of their
// own.
TEST(Tuning, PartsOfSplitGroupsAreNoOtherGroups) {
  const auto plan = plan_of(R"(graph g(%x: f32[64,256], %r: f32[64,256]) {
  @w : f32[256,256]
  @v : f32[256,256]
  %1 = fused linear(%x, @w) { add(_, %r); relu } : f32[64,256]
  %2 = linear(%1, @v) : f32[64,256]
  return %2
}
)",
                            [](const Group& group, std::span<const CandidateInfo> candidates) {
                              const auto split = candidate_named(candidates, "split before add");
                              return split ? *split : least_estimate(group, candidates);
                            });
  const auto places = places_of(*plan);
  EXPECT_EQ(places.size(), 2U);
  EXPECT_EQ(places.at(plan->choices[0].key).at(0).candidate, "split before add");
  EXPECT_EQ(places.at(plan->choices[0].key).at(0).steps, plan->choices[0].steps);
  EXPECT_EQ(places.at(plan->choices.back().key).size(), 1U);
}

TEST(Tuning, KernelsWhoseOutputsDifferAreNotTaken) {
  const std::shared_ptr<const Graph> graph = graph_of(large_product);
  const std::vector<Tensor> inputs = inputs_of(*graph, {});
  Tuning tuning(cpu_that_misjudges(), 1);
  const TuneReport report =
      tune(graph, inputs, cpu_that_misjudges(), 1, tuning,
           {.seconds = 60, .most_blocks = 3, .agrees = [](const auto&, const auto&) { return false; }});
  EXPECT_EQ(report.reverted, "the outputs of faster kernels differ");
  EXPECT_EQ(report.groups[0].taken, "reference");
  ASSERT_NE(tuning.find(report.groups[0].key), nullptr);
  EXPECT_EQ(tuning.find(report.groups[0].key)->candidate, "reference");
}

}  // namespace
}  // namespace tenon::testing
