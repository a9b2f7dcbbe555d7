// Graphs of very many nodes, one after another: nothing walks them by calling itself, or looks at all for
// each.
#include "fusion/fuse.h"
#include "ir/clone.h"
#include "ir/gradient.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "runtime/inputs.h"
#include "runtime/session.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

constexpr int nodes = 100'000, fused_nodes = 30'000;

// `line(i)` is node i, without its name and type.
template <class F>
std::shared_ptr<Graph> chain(const std::string& type, int count, F&& line) {
  std::string text = fmt::format("graph chain(%0: {}) {{\n", type);
  for (int i = 1; i <= count; ++i) text += fmt::format("  %{} = {} : {}\n", i, line(i), type);
  return parse(text + fmt::format("  return %{}\n}}\n", count));
}

std::vector<Tensor> run_fused(const Graph& graph) {
  const std::shared_ptr<Graph> fused = clone(graph);
  fuse(*fused);
  verify(*fused);
  EXPECT_FALSE(print(*fused).empty());
  Session session(fused);
  return session.run(input_values(*fused, {}, 7, {}));
}

TEST(DeepGraph, OfPointwiseOperators) {
  const auto graph = chain("f32[1,2,3]", fused_nodes,
                           [](int i) { return fmt::format("{}(%{})", i % 2 ? "neg" : "relu", i - 1); });
  const auto inputs = input_values(*graph, {}, 7, {});
  const auto expected = evaluate(*graph, inputs);
  expect_close(run_fused(*graph)[0], expected[0]);
  expect_close(Session(graph).run(inputs)[0], expected[0]);
}

TEST(DeepGraph, OfOperandsThatAllRead) {
  const auto graph =
      chain("f32[2]", fused_nodes, [](int i) { return fmt::format("maximum(%{}, %0)", i - 1); });
  expect_close(run_fused(*graph)[0], input_values(*graph, {}, 7, {})[0]);
}

TEST(DeepGraph, OfViewsOfImages) {
  const auto graph = chain("f32[1,2,2,2]", nodes / 4,
                           [](int i) { return fmt::format("permute(%{}, axes=[0,1,3,2])", i - 1); });
  const auto inputs = input_values(*graph, {}, 7, {});
  expect_close(Session(graph).run(inputs)[0], evaluate(*graph, inputs)[0]);
  expect_close(run_fused(*graph)[0], inputs[0]);
}

TEST(DeepGraph, ThatIndexesFarBelow) {
  std::string text = "graph index(%0: i64[3], %table: f32[5,2]) {\n";
  for (int i = 1; i <= nodes; ++i) text += fmt::format("  %{} = abs(%{}) : i64[3]\n", i, i - 1);
  text += fmt::format("  %r = index_select(%table, %{}, axis=0) : f32[3,2]\n  return %r\n}}\n", nodes);
  const auto graph = parse(text);
  EXPECT_EQ(integer_range(*graph->body().parameter(0)).max, 4);
}

TEST(DeepGraph, OfDeadNodes) {
  std::string text = "graph dead(%0: f32[2]) {\n";
  for (int i = 1; i <= nodes; ++i) text += fmt::format("  %{} = exp(%{}) : f32[2]\n", i, i - 1);
  const auto graph = parse(text + "  return %0\n}\n");
  clean_up(*graph);
  EXPECT_TRUE(graph->body().nodes().empty());
}

TEST(DeepGraph, HasAGradient) {
  const auto graph = chain("f64[2]", nodes, [](int i) { return fmt::format("neg(%{})", i - 1); });
  EXPECT_GT(gradient_graph(*graph)->body().nodes().size(), static_cast<std::size_t>(nodes));
}

}  // namespace
}  // namespace tenon::testing
