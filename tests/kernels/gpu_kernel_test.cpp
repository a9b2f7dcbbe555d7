// Each kernel of gpu_cases.h gives what its plain reading gives, with waves of 32 and of 64 lanes; in the
// builds with sanitizers, or with TENON_KERNEL_TOOL=address or thread, under the sanitizer, in three orders
// of threads and blocks.
#include <gtest/gtest.h>

#include "tests/kernels/emulated_launch.h"

namespace tenon::gpu {
namespace {

Tool tool() {
  const char* const wanted = std::getenv("TENON_KERNEL_TOOL");
  const std::string_view name = wanted ? wanted : TENON_KERNEL_TOOL;
  return name == "address" ? Tool::address : name == "thread" ? Tool::thread : Tool::plain;
}

// Without a sanitizer, gpu_loop_test.cpp runs the loops.
std::vector<GpuCase> chosen_cases(int wave) {
  std::vector<GpuCase> chosen = all_gpu_cases(wave);
  if (tool() == Tool::plain)
    std::erase_if(chosen, [](const GpuCase& c) { return c.name.starts_with("loop "); });
  return chosen;
}

class GpuKernel : public ::testing::TestWithParam<std::tuple<std::size_t, int>> {};

template <int wave>
const std::vector<GpuCase>& cases() {
  static const std::vector<GpuCase> chosen = chosen_cases(wave);
  return chosen;
}

TEST_P(GpuKernel, GivesWhatItsPlainReadingGives) {
  const auto [index, wave] = GetParam();
  const GpuCase& c = (wave == 32 ? cases<32>() : cases<64>())[index];
  EmulatedLaunch launch(c, tool(), wave);
  const int orders = tool() == Tool::plain ? 1 : 3;
  for (int order = 0; order < orders; ++order) EXPECT_EQ(launch.run(order), "") << "in order " << order;
}

std::vector<std::tuple<std::size_t, int>> launches() {
  std::vector<std::tuple<std::size_t, int>> all;
  for (std::size_t i = 0; i < cases<32>().size(); ++i)
    for (const int wave : {32, 64})
      if (wave == 32 || !cases<32>()[i].of_warpgroups) all.emplace_back(i, wave);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, GpuKernel, ::testing::ValuesIn(launches()), [](const auto& test) {
  std::string name =
      cases<32>()[std::get<0>(test.param)].name + " wave " + std::to_string(std::get<1>(test.param));
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}  // namespace
}  // namespace tenon::gpu
