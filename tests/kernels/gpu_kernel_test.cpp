// Each kernel of gpu_cases.h gives what its plain reading gives, by turns with waves of 32 or of 64 lanes.
// With TENON_TESTS=all the first of those that differ in dtypes alone runs in three orders of threads and
// blocks, by turns under ThreadSanitizer (waves of 32) or AddressSanitizer with UndefinedBehaviorSanitizer
// (waves of 64). In the builds with sanitizers, or with TENON_KERNEL_TOOL=address or thread, all run with
// both waves, in three orders, and those of matrix units also on WMMA and MFMA as other chips have them.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/chosen.h"
#include "tests/kernels/emulated_launch.h"

namespace tenon::gpu {
namespace {

template <int wave>
const std::vector<GpuCase>& cases() {
  static const std::vector<GpuCase> all = all_gpu_cases(wave);
  return all;
}

struct CaseRun {
  std::size_t index;  // of the case
  Chip chip;
  Tool tool;

  const GpuCase& of() const { return (chip.wave == 32 ? cases<32>() : cases<64>())[index]; }
};

std::ostream& operator<<(std::ostream& out, const CaseRun& run) { return out << run.index; }

class GpuKernel : public ::testing::TestWithParam<CaseRun> {};

TEST_P(GpuKernel, GivesWhatItsPlainReadingGives) {
  const CaseRun& run = GetParam();
  EmulatedLaunch launch(run.of(), run.tool, run.chip);
  const int orders = run.tool == Tool::plain ? 1 : 3;
  for (int order = 0; order < orders; ++order) EXPECT_EQ(launch.run(order), "") << "in order " << order;
}

std::string without_dtypes(const std::string& name) {
  std::istringstream words(name);
  std::string rest;
  for (std::string word; words >> word;)
    if (!dtype_from_name(word)) rest += word + ' ';
  return rest;
}

// Of the units that each chip has, and of no plan, which is made for one.
bool is_of_matrix_units(const GpuCase& c) {
  const bool multiplies = c.name.starts_with("product ") || c.name.starts_with("attention ");
  return multiplies && !c.of_warpgroups && c.operators.empty();
}

std::vector<CaseRun> runs() {
  std::vector<CaseRun> all;
  std::set<std::string> families;
  for (std::size_t i = 0; i < cases<32>().size(); ++i) {
    const GpuCase& c = cases<32>()[i];
    const int wide = c.of_warpgroups ? 32 : 64;
    if (kernel_tool() == Tool::plain && all_tests_run() && families.insert(without_dtypes(c.name)).second) {
      const bool threads = families.size() % 2 == 0;
      all.push_back({i, threads ? 32 : wide, threads ? Tool::thread : Tool::address});
    } else if (kernel_tool() != Tool::plain) {
      for (int wave = 32; wave <= wide; wave *= 2) all.push_back({i, wave, kernel_tool()});
      if (is_of_matrix_units(c))
        all.push_back({i, i % 2 == 0 ? Chip::gfx1100() : Chip::gfx90a(), kernel_tool()});
    } else if (!c.name.starts_with("loop ")) {  // gpu_loop_test.cpp runs the loops
      all.push_back({i, i % 2 == 0 ? 32 : wide, Tool::plain});
    }
  }
  return all;
}

std::string name_of(const ::testing::TestParamInfo<CaseRun>& test) {
  const CaseRun& run = test.param;
  std::string name = cases<32>()[run.index].name + " wave " + std::to_string(run.chip.wave);
  if (run.chip.number > 1) name += std::string(" ") + run.chip.name;
  if (run.tool != Tool::plain) name += run.tool == Tool::address ? " address" : " thread";
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, GpuKernel, ::testing::ValuesIn(runs()), name_of);

}  // namespace
}  // namespace tenon::gpu
