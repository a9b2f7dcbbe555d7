// No kernel is forgotten: every text, every kernel in it and every operator that the GPU lowers is in a case,
// and in a row of the self-test.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "base/error.h"
#include "fusion/fuse.h"
#include "kernels/gpu/texts.h"
#include "runtime/gpu/step.h"
#include "runtime/inputs.h"
#include "runtime/session.h"
#include "tests/kernels/gpu_cases.h"
#include "tests/kernels/planning_gpu.h"
#include "verify/selftest.h"

namespace tenon::gpu {
namespace {

const std::vector<GpuCase>& cases() {
  static const std::vector<GpuCase> all = all_gpu_cases(32);
  return all;
}

/// The texts that are launched, each with the kernels that are.
std::map<std::string, std::set<std::string>> launched() {
  std::map<std::string, std::set<std::string>> kernels;
  for (const GpuCase& c : cases())
    for (const GpuLaunch& launch : c.launches) kernels[launch.source].insert(launch.kernel);
  return kernels;
}

TEST(GpuCoverage, EveryTextIsInACase) {
  const auto kernels = launched();
  for (const texts::File& file : texts::files()) {
    const std::string_view line = file.text.substr(0, file.text.find('\n'));  // which no other file has
    const bool found = std::any_of(kernels.begin(), kernels.end(), [&](const auto& launch) {
      return launch.first.find(line) != std::string::npos;
    });
    EXPECT_TRUE(found) << file.path << " is in no case: add a graph to tests/kernels/planned_graphs.cpp";
  }
}

TEST(GpuCoverage, EveryKernelIsLaunched) {
  std::set<std::string> written, started;
  for (const auto& [source, kernels] : launched()) {
    started.insert(kernels.begin(), kernels.end());
    const std::regex kernel(R"(__global__ void ((__launch_bounds__|GPU_BLOCK)\([^)]*\) )?(\w+)\()");
    for (std::sregex_iterator it(source.begin(), source.end(), kernel), end; it != end; ++it)
      written.insert((*it)[3]);
  }
  EXPECT_EQ(written, started);
}

TEST(GpuCoverage, EveryOperatorWithAKernelIsPlanned) {
  std::set<std::string> planned;
  for (const GpuCase& c : cases()) planned.insert(c.operators.begin(), c.operators.end());
  for (const OpLowering& lowering : planning_gpu(32).lowerings) {
    if (lowering.op->regions > 0) continue;  // it runs plans
    EXPECT_TRUE(planned.contains(std::string(lowering.op->name)))
        << lowering.op->name << " is in no case: add a graph to tests/kernels/planned_graphs.cpp";
  }
}

/// Operators of the CPU that nothing on a GPU runs, and why.
constexpr std::string_view of_text = "strings lie in no memory of a device",
                           of_pictures = "it reads files of pictures";
const std::map<std::string_view, std::string_view> on_the_host = {
    {"dim_value", "a size, which is known when a plan is made"},
    {"picture_size", of_pictures},
    {"decode_picture", of_pictures},
    {"to_string", of_text},
    {"parse_number", of_text},
    {"concat_strings", of_text},
    {"split_strings", of_text},
    {"change_case", of_text},
    {"match_pattern", of_text},
    {"find", of_text},
    {"count_ngrams", of_text},
};

TEST(GpuCoverage, EveryOperatorOfTheCpuRunsOnAGpu) {
  for (const OpInfo* op : all_ops()) {
    const Op sample = op->make();
    if (cpu_device().runs(sample) == "nothing") continue;
    EXPECT_EQ(planning_gpu(32).runs(sample) == "nothing", on_the_host.contains(op->name))
        << op->name << ": give it a kernel, a composition or a reason why not";
  }
}

using Names = std::set<std::string>;

Names without(const Names& all, const Names& some) {
  Names rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::inserter(rest, rest.end()));
  return rest;
}

void add_matches(Names& names, std::string_view text, const std::regex& what) {
  for (std::cregex_iterator it(text.data(), text.data() + text.size(), what), end; it != end; ++it)
    names.insert((*it)[1]);
}

/// What the texts declare: types and functions.
const Names& declared() {
  static const Names names = [] {
    Names found;
    const std::regex type(R"(\b(?:struct|class|using) (\w+))"), function(R"(GPU_INLINE [^(;]*?(\w+)\()");
    for (const texts::File& file : texts::files())
      for (const std::regex& what : {type, function}) add_matches(found, file.text, what);
    return found;
  }();
  return names;
}

/// What a kernel is made of: its name, and what it takes of the texts before it.
void add_parts(Names& parts, const std::string& source, const std::string& kernel) {
  parts.insert("the kernel " + kernel);
  const std::string_view own = std::string_view(source).substr(source.rfind("namespace tenon::gpu {"));
  Names words;
  add_matches(words, own, std::regex(R"(\b([A-Za-z_]\w*))"));
  std::set_intersection(words.begin(), words.end(), declared().begin(), declared().end(),
                        std::inserter(parts, parts.end()));
}

/// Null: the device has no kernel for it.
std::shared_ptr<const Plan> plan_of(const SelfTestResult& c, const Device& device) {
  const auto graph = self_test_graph(c);
  fuse(*graph);
  try {
    return Session(graph, {.device = &device}).plan_for(input_values(*graph, {}, 0));
  } catch (const Error& e) {
    if (e.code() == Exit::unsupported) return nullptr;
    throw;
  }
}

Names parts_of_self_test(const Device& device) {
  Names parts;
  for (const SelfTestResult& c : self_test_cases())
    if (const auto plan = plan_of(c, device))
      for (const auto& step : plan->steps)
        if (const auto* launch = dynamic_cast<const LaunchStep*>(step.get()))
          add_parts(parts, launch->kernel().source, launch->kernel().name);
  return parts;
}

// `hold` computes nothing; one product of TF32 for one of float32 is for --precision tf32.
bool can_be_in_self_test(const GpuCase& c) { return c.name != "hold" && !c.name.ends_with(" tf32"); }

TEST(GpuCoverage, EveryKernelIsInTheSelfTest) {
  Names of_cases;
  for (const GpuCase& c : cases())
    if (can_be_in_self_test(c))
      for (const GpuLaunch& launch : c.launches) add_parts(of_cases, launch.source, launch.kernel);
  Names tested = parts_of_self_test(planning_gpu(32));
  tested.merge(parts_of_self_test(planning_gpu_with_bulk_copies()));
  EXPECT_EQ(without(of_cases, tested), Names()) << "add graphs to verify/selftest_cases.cpp";
}

void add_operators(Names& names, const Region& region) {
  for (const auto& node : region.nodes()) {
    names.emplace(node->op().name());
    for (const auto& inner : node->regions()) add_operators(names, *inner);
  }
}

TEST(GpuCoverage, EveryOperatorIsInTheSelfTest) {
  Names tested, lowered;
  for (const SelfTestResult& c : self_test_cases()) add_operators(tested, self_test_graph(c)->body());
  for (const OpInfo* op : all_ops()) {
    const std::string_view by = planning_gpu(32).runs(op->make());
    if (by == "kernel" || by == "loop") lowered.emplace(op->name);
  }
  EXPECT_EQ(without(lowered, tested), Names()) << "add graphs to verify/selftest_cases.cpp";
}

TEST(GpuCoverage, NamesAreOfOneCase) {
  std::set<std::string> names;
  for (const GpuCase& c : cases()) EXPECT_TRUE(names.insert(c.name).second) << c.name;
}

}  // namespace
}  // namespace tenon::gpu
