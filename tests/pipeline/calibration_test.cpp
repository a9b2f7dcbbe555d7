// The networks that a machine is calibrated with.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "base/temporary_path.h"
#include "fusion/fuse.h"
#include "pipeline/calibration/measure.h"
#include "runtime/inputs.h"
#include "runtime/session.h"

namespace tenon::testing {
namespace {

std::span<const CalibrationNet> named(std::string_view name) {
  const auto all = calibration_nets();
  const auto found = std::ranges::find(all, name, &CalibrationNet::name);
  return all.subspan(static_cast<std::size_t>(found - all.begin()), found == all.end() ? 0 : 1);
}

// Those that take most of models' time, as the machine at hand chooses them.
TEST(CalibrationNets, HaveTheKernelsOfModels) {
  std::set<std::string> kernels;
  std::set<std::string_view> names;
  for (const CalibrationNet& net : calibration_nets()) {
    EXPECT_TRUE(names.insert(net.name).second) << net.name;
    std::shared_ptr<Graph> graph = net.make();
    fuse(*graph);
    const auto plan = Session(graph).plan_for(input_values(*graph, {}, 0));
    for (const StepFeatures& step : features_of(*plan)) kernels.insert(step.kernel);
    for (const auto& step : plan->steps) EXPECT_NE(step->info.kind, StepKind::reference) << net.name;
  }
  for (const char* kernel :
       {"gemm", "gemm bf16", "winograd2", "winograd4", "winograd6", "depthwise", "attention", "batched gemm",
        "transposed", "pool", "loop", "row loop", "copy", "resample"})
    EXPECT_TRUE(kernels.contains(kernel)) << kernel;
}

TEST(Calibration, MeasuresEveryStepOfANetwork) {
  const TemporaryFolder cache(std::filesystem::temp_directory_path());  // where the pulse is kept
  ::setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  const MachineDescription machine{
      .device = "cpu",
      .isa = "avx2",
      .l2_bytes = 1 << 20,
      .l3_bytes = 1 << 25,
      .rates = {{1, {.gflops = 100, .gbs = 10, .l2_gbs = 80, .l3_gbs = 30}, 1e-4}}};
  std::vector<std::string> heard;
  const auto measured = measure_nets(named("perceptron 1"), cpu_device(), machine, 1, 0,
                                     [&](std::string_view net) { heard.emplace_back(net); });
  EXPECT_EQ(heard, std::vector<std::string>{"perceptron 1"});
  ASSERT_EQ(measured.size(), 1u);
  EXPECT_GE(measured[0].steps.size(), 5u);
  for (const StepRecord& step : measured[0].steps) {
    EXPECT_FALSE(step.key.empty());
    EXPECT_GT(step.ms, 0);
    EXPECT_TRUE(std::isfinite(step.ms));
    EXPECT_EQ(step.features.gflops, 100);
  }
}

// All steps take twice as long as the model says.
TEST(Calibration, ErrorsAreThoseOfNetworksThatTookNoPart) {
  const CostModel& model = CostModel::shipped();
  const Features features{.flops = 1e9,
                          .elements = 1e6,
                          .gflops = 100,
                          .step_ms = 1e-4,
                          .flop_ms = 10,
                          .near_ms = 1,
                          .far_ms = 1,
                          .element_ms = 0.01,
                          .planned_ms = 10,
                          .roofline_ms = 12};
  std::vector<MeasuredNet> nets(5);
  for (MeasuredNet& net : nets)
    for (int i = 0; i < 100; ++i)
      net.steps.push_back({std::to_string(i), "gemm", features, 2 * model.step("gemm", features).ms});
  const CalibrationErrors alike = errors_of(nets, model);
  EXPECT_NEAR(alike.before, 0.5, 1e-9);
  EXPECT_NEAR(alike.after, 0, 1e-9);
  for (StepRecord& step : nets[0].steps) step.ms *= 2;  // which the others know nothing of
  EXPECT_NEAR(errors_of(nets, model).after, 0.5 / 5, 1e-9);
}

}  // namespace
}  // namespace tenon::testing
