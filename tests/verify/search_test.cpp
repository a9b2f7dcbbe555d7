// A wrong kernel, a wrong rule and a wrong conversion are each found where they are made, and named.
#include "verify/search.h"

#include "ir/evaluate.h"
#include "ir/ops/conv.h"
#include "ir/ops/linear.h"
#include "tests/verify/suspects.h"
#include "verify/bisect.h"

namespace tenon {
namespace {

using namespace testing;

class Searching : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> imported = imported_graph(residual_net);
  std::shared_ptr<Graph> fused = fused_graph(*imported);
  std::vector<Tensor> inputs = inputs_for(*imported, 2);
};

TEST_F(Searching, NothingIsFoundWhereNothingIsWrong) {
  const ImportedValues exact(*imported, inputs);
  EXPECT_FALSE(search_fusion(*imported, exact, *fused, inputs, {}).first);
  for (const int threads : {1, 2}) {
    const Search kernels = search_kernels(*fused, imported.get(), cpu_device(), threads, inputs, {});
    EXPECT_FALSE(kernels.first) << (kernels.first ? kernels.first->what : "");
    // What is left is rounding, and the report says how much of it there is.
    ASSERT_TRUE(kernels.largest);
    EXPECT_LT(kernels.largest->difference.relative(), 1e-5);
  }
}

TEST_F(Searching, AWrongKernelIsNamed) {
  const Search search =
      search_kernels(*fused, imported.get(), device_with_wrong<Linear>(), 1, inputs, Tolerance());
  ASSERT_TRUE(search.first);
  EXPECT_EQ(search.first->stage, Divergence::Stage::kernel);
  EXPECT_NE(search.first->what.find("linear"), std::string::npos) << search.first->what;
  EXPECT_EQ(search.first->location, "fc");
  EXPECT_EQ(search.first->difference.worst, (Index{0, 0}));
  EXPECT_LT(search.first->rounding, 1e-6);
}

// The first wrong convolution is named, though every later value is wrong too, with what it was fused from.
TEST_F(Searching, AnErrorThatSpreadsIsFoundWhereItIsMade) {
  const Search search =
      search_kernels(*fused, imported.get(), device_with_wrong<Conv>(), 1, inputs, Tolerance());
  ASSERT_TRUE(search.first);
  EXPECT_EQ(search.first->location, "{stem,bn,relu}") << search.first->what;
  ASSERT_EQ(search.first->replaced.size(), 3u);
  EXPECT_NE(search.first->replaced[0].find("conv"), std::string::npos);
  EXPECT_NE(search.first->replaced[1].find("batch_norm"), std::string::npos);
  EXPECT_NE(search.first->replaced[2].find("relu"), std::string::npos);
}

TEST_F(Searching, AnErrorThatCancelsOutIsFoundAllTheSame) {
  const auto graph = imported_graph(R"(graph cancels(%x: f32[N,8]) {
  @w : f32[8,8]
  %1 = linear(%x, @w) : f32[N,8] # hidden
  %2 = mul(%1, 0) : f32[N,8]
  return %2
}
)");
  const Search search =
      search_kernels(*graph, nullptr, device_with_wrong<Linear>(), 1, inputs_for(*graph, 2), {});
  ASSERT_TRUE(search.first);
  EXPECT_EQ(search.first->location, "hidden");
}

TEST_F(Searching, AWrongRewriteIsNamedWithWhatItReplaced) {
  const std::vector<Pass> passes = pipeline_with_wrong_rule();
  const auto wrong = fused_graph(*imported, passes);
  const Search search = search_fusion(*imported, ImportedValues(*imported, inputs), *wrong, inputs, {});
  ASSERT_TRUE(search.first);
  EXPECT_EQ(search.first->stage, Divergence::Stage::fusion);
  EXPECT_EQ(search.first->location, "{down,act}") << search.first->what;
  ASSERT_EQ(search.first->replaced.size(), 2u);
  EXPECT_NE(search.first->replaced[1].find("silu"), std::string::npos);
  EXPECT_NE(search.first->str().find("rounding explains"), std::string::npos);
}

// Stages are searched in the order in which a model passes through them.
TEST_F(Searching, BisectReportsTheFirstStageThatIsWrong) {
  const std::vector<Pass> passes = pipeline_with_wrong_rule();
  Model model{.imported = imported, .graph = fused_graph(*imported, passes)};
  const Bisection both = bisect(model, {inputs}, {.device = device_with_wrong<Linear>()});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->stage, Divergence::Stage::fusion);
  model.graph = fused;
  const Bisection kernel = bisect(model, {inputs}, {.device = device_with_wrong<Linear>()});
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->stage, Divergence::Stage::kernel);
  EXPECT_FALSE(bisect(model, {inputs}));
}

TEST_F(Searching, RoundingIsNoError) {
  const Difference big{.max_error = 1e-3, .scale = 1, .elements = 1, .compared = 1};
  EXPECT_TRUE(is_error(big, 1e-6, 1e-4));
  EXPECT_FALSE(is_error(big, 2e-4, 1e-4)) << "ten times what rounding does to the reference";
  EXPECT_FALSE(is_error(big, 0, 1e-2)) << "within the tolerance";
}

// A sum that cancels: float32 is far from float64, and no kernel is to blame.
TEST_F(Searching, CancellationIsToldFromError) {
  const auto graph = imported_graph(R"(graph cancellation(%x: f32[N,4]) {
  %1 = add(%x, 1000000) : f32[N,4]
  %2 = sub(%1, 1000000) : f32[N,4]
  return %2
}
)");
  const std::vector<Tensor> values = inputs_for(*graph, 2);
  const ImportedValues exact(*graph, values);
  EXPECT_GT(exact.outputs()[0].rounding, 1e-4);
  EXPECT_FALSE(search_fusion(*graph, exact, *fused_graph(*graph), values, {}).first);
}

}  // namespace
}  // namespace tenon
