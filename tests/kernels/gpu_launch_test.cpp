// Launches that no driver takes are refused where they are planned.
#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/parse.h"
#include "runtime/gpu/gpu.h"
#include "runtime/session.h"
#include "tests/kernels/planning_gpu.h"

namespace tenon::gpu {
namespace {

constexpr std::int64_t two_to_the_24 = std::int64_t{1} << 24, two_to_the_31 = std::int64_t{1} << 31;

std::string refusal(Vendor vendor, const LaunchSize& size) {
  try {
    size.check(vendor, "sort");
    return "";
  } catch (const Error& e) { return e.message(); }
}

TEST(LaunchSize, IsBoundedInEachDimension) {
  for (const Vendor vendor : vendors) {
    EXPECT_EQ(refusal(vendor, {.grid = {two_to_the_31 - 1, 65535, 65535}, .block = 1}), "");
    EXPECT_EQ(refusal(vendor, {.grid = {0, 1, 1}, .block = 256}), "");
    EXPECT_NE(refusal(vendor, {.grid = {two_to_the_31, 1, 1}}).find("sort would take 2147483648 blocks"),
              std::string::npos);
    EXPECT_NE(refusal(vendor, {.grid = {1, 65536, 1}}), "");
    EXPECT_NE(refusal(vendor, {.grid = {1, 1, 65536}}), "");
  }
}

TEST(LaunchSize, IsCountedInThreadsByHip) {
  EXPECT_EQ(refusal(Vendor::cuda, {.grid = {two_to_the_24, 1, 1}, .block = 256}), "");
  EXPECT_EQ(refusal(Vendor::hip, {.grid = {two_to_the_24 - 1, 1, 1}, .block = 256}), "");
  EXPECT_NE(refusal(Vendor::hip, {.grid = {two_to_the_24, 1, 1}, .block = 256}).find("4294967296 threads"),
            std::string::npos);
}

TEST(LaunchSize, IsLookedAtWhenAPlanIsMade) {
  const std::shared_ptr<const Graph> graph = parse(
      "graph g(%x: f32[1]) { %1 = expand(%x, shape=[1099511627776]) %2 = special(%1, function=\"i0\") "
      "return %2 }");
  Session session(graph, {.device = &planning_gpu(32)});
  try {
    session.plan_for(std::vector<Tensor>{Tensor::zeros(DType::f32, {1})});
    ADD_FAILURE() << "a plan";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("pointwise would take 4294967296 blocks"), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace tenon::gpu
