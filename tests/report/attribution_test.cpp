// The time of fused steps goes back to the modules they came from.
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/temporary_path.h"
#include "report/profile.h"
#include "tests/runtime/graphs.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

constexpr Peak peak{.gflops = 100, .gbs = 10};

Profile profile_of(const char* graph_text) {
  const auto graph = graph_of(graph_text);
  Session session(graph);
  const auto inputs = inputs_of(*graph, {{"N", 1}});
  return profile(session, inputs, {.warmup = 1, .iterations = 4});
}

TEST(Attribution, PartsSumToTheStep) {
  for (const char* graph : {residual_net, u_net}) {
    const Profile p = profile_of(graph);
    for (std::size_t i = 0; i < p.plan->steps.size(); ++i) {
      double sum = 0;
      for (const StepPart& part : parts_of(*p.plan, i, peak)) sum += part.share;
      if (p.plan->nodes[i]) { EXPECT_NEAR(sum, 1, 1e-9) << i; }
    }
  }
}

TEST(Attribution, TheConvolutionOutweighsItsActivation) {
  const Profile p = profile_of(residual_net);
  int seen = 0;
  for (std::size_t i = 0; i < p.plan->steps.size(); ++i) {
    const auto of = parts_of(*p.plan, i, peak);
    if (of.size() < 2 || of[0].op != "conv") continue;
    EXPECT_GT(of[0].share, of[1].share);
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

TEST(Attribution, ModulesSumToAllSteps) {
  const Profile p = profile_of(u_net);
  const auto rows = step_rows(p, peak);
  double shares = 0, steps = 0;
  for (const TimeRow& m : summed(rows, TimesBy::module)) shares += m.share;
  for (const StepRow& s : rows) steps += s.share;
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_NEAR(steps, 1, 1e-9);
}

TEST(Attribution, PathsAreCutAtADepth) {
  EXPECT_EQ(module_at_depth("layer3.0.conv2", 0), "layer3.0.conv2");
  EXPECT_EQ(module_at_depth("layer3.0.conv2", 2), "layer3.0");
  EXPECT_EQ(module_at_depth("layer3.0.{conv2,bn2}", 3), "layer3.0");
  EXPECT_EQ(module_at_depth("fc", 3), "fc");
  EXPECT_EQ(module_at_depth("", 1), "");
}

TEST(StepRows, RooflineFollowsFromTimesAndPeaks) {
  const auto rows = step_rows(profile_of(residual_net), peak);
  for (const StepRow& s : rows) {
    EXPECT_GT(s.ms, 0);
    EXPECT_NEAR(*s.roofline * s.ms, least_ms(peak, s.features.arithmetic, s.flops, s.bytes), 1e-9);
    EXPECT_EQ(s.memory_bound, s.bytes / peak.gbs > s.flops / peak.gflops);
    EXPECT_EQ(s.samples_ms.size(), 4u);
  }
}

TEST(StepRows, ProductsAreHeldAgainstTheRateOfTheirArithmetic) {
  const Profile p = profile_of(R"(graph g(%x: bf16[64,256]) {
  @w: bf16[128,256]
  %1 = linear(%x, @w) : bf16[64,128]
  return %1
})");
  Peak fast{.gflops = 100, .gbs = 100};
  fast.own_gflops(ArithmeticKind::bf16) = 200;
  int products = 0;
  for (const StepRow& s : step_rows(p, fast)) {
    const bool is_product = s.features.arithmetic == ArithmeticKind::bf16;
    products += is_product ? 1 : 0;
    EXPECT_NEAR(*s.roofline * s.ms, 1e-6 * std::max(s.flops / (is_product ? 200 : 100), s.bytes / 100), 1e-9);
  }
  EXPECT_EQ(products, 1);
}

TEST(Roofline, SaysThatItsLastMeasurementWasDisturbed) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path());
  const RooflineCache cache(folder.path() / "roofline.json");
  EXPECT_FALSE(cache.is_disturbed(cpu_device(), 1)) << "nothing is kept";
  cache.measure(cpu_device(), 1);
  nlohmann::json kept = nlohmann::json::parse(std::ifstream(cache.file()));
  nlohmann::json& entry = kept["peaks"].front();
  for (const bool disturbed : {true, false}) {
    entry["disturbed"] = disturbed;
    std::ofstream(cache.file(), std::ios::trunc) << kept;
    EXPECT_EQ(cache.is_disturbed(cpu_device(), 1), disturbed);
    EXPECT_TRUE(cache.find(cpu_device(), 1)) << "it is used all the same";
  }
  entry.erase("disturbed");
  std::ofstream(cache.file(), std::ios::trunc) << kept;
  EXPECT_FALSE(cache.is_disturbed(cpu_device(), 1)) << "of another version";
}

TEST(Roofline, EachArithmeticHasARate) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path());
  const RooflineCache cache(folder.path() / "roofline.json");
  const Peak measured = cache.measure(cpu_device(), 1);
  EXPECT_FALSE(cache.lacks_rates(cpu_device(), 1));
  for (const ArithmeticKind kind : arithmetic_kinds) {
    EXPECT_GT(measured.gflops_of(kind), 0) << name(kind);
    EXPECT_EQ(cache.find(cpu_device(), 1)->gflops_of(kind), measured.gflops_of(kind)) << name(kind);
  }
  EXPECT_LT(measured.gflops_of(ArithmeticKind::f64), measured.gflops);
  using enum ArithmeticKind;
  for (const ArithmeticKind kind : {f32, bf16, i8}) EXPECT_GE(measured.gflops_of(kind), measured.gflops);
}

TEST(Roofline, OfAnEarlierVersionHasTheRateOfFloat32Alone) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path());
  const RooflineCache cache(folder.path() / "roofline.json");
  const Peak measured = cache.measure(cpu_device(), 1);
  nlohmann::json kept = nlohmann::json::parse(std::ifstream(cache.file()));
  kept["peaks"].front().erase("gflops_of");
  std::ofstream(cache.file(), std::ios::trunc) << kept;
  ASSERT_TRUE(cache.find(cpu_device(), 1));
  EXPECT_TRUE(cache.lacks_rates(cpu_device(), 1));
  for (const ArithmeticKind kind : arithmetic_kinds)
    EXPECT_EQ(cache.find(cpu_device(), 1)->gflops_of(kind), measured.gflops) << name(kind);
}

TEST(Roofline, IsKeptAndSurvivesADamagedCache) {
  const TemporaryFolder folder(std::filesystem::temp_directory_path());
  const RooflineCache cache(folder.path() / "roofline.json");
  EXPECT_FALSE(cache.find(cpu_device(), 1));
  const Peak measured = cache.measure(cpu_device(), 1);
  ASSERT_TRUE(cache.find(cpu_device(), 1));
  EXPECT_EQ(cache.find(cpu_device(), 1)->gflops, measured.gflops);
  EXPECT_FALSE(cache.find(cpu_device(), 2));
  for (const char* damage : {"", "[1]", "{\"schema\": 3}", "{\"schema\":\"tenon.roofline/1\",\"peaks\":7}"}) {
    std::ofstream(cache.file(), std::ios::trunc) << damage;
    EXPECT_FALSE(cache.find(cpu_device(), 1)) << damage;
  }
  EXPECT_GT(RooflineCache("/proc/no/such/folder.json").measure(cpu_device(), 1).gflops, 0);
}

}  // namespace
}  // namespace tenon::testing
