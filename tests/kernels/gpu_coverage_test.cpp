// No kernel is forgotten: every text, every kernel in it and every operator that the GPU lowers is in a case.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "kernels/gpu/texts.h"
#include "tests/kernels/gpu_cases.h"
#include "tests/kernels/planning_gpu.h"

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

TEST(GpuCoverage, NamesAreOfOneCase) {
  std::set<std::string> names;
  for (const GpuCase& c : cases()) EXPECT_TRUE(names.insert(c.name).second) << c.name;
}

}  // namespace
}  // namespace tenon::gpu
