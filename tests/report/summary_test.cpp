// What a model holds and costs, in numbers.
#include "report/summary.h"

#include <gtest/gtest.h>

#include "tests/fusion/rewriting.h"

namespace tenon {
namespace {

const std::string network =
    "graph g(%x: f32[N,4]) where N in 1..64 \"dim 0 of input x\" {\n"
    "  @a.w : f32[8,4]\n  @a.b : f32[8]\n  @b.w : f32[2,8]\n"
    "  %1 = linear(%x, @a.w, @a.b) : f32[N,8]  # body.a\n"
    "  %2 = relu(%1) : f32[N,8]  # body.act\n"
    "  %3 = linear(%2, @b.w) : f32[N,2]  # head\n"
    "  return %3\n}\n";

struct Opened {
  Model model;
  ModelSummary summary;
};

Opened open(const std::string& text, const Bindings& sizes) {
  const std::shared_ptr<Graph> imported = testing::graph_with_data(text);
  number_origins(*imported);
  const std::shared_ptr<Graph> fused = clone(*imported);
  Model model{.path = "m.pt", .imported = imported, .graph = fused};
  model.fusion = fuse(*fused);
  Session session(model.graph);
  return {model, summarize(model, session, input_values(*model.graph, {}, 1, sizes))};
}

TEST(Summary, CountsWeightsAndArithmeticAtTheGivenSizes) {
  const auto [model, s] = open(network, {{"N", 3}});
  EXPECT_EQ(s.numbers, 8 * 4 + 8 + 2 * 8);
  EXPECT_EQ(s.weight_bytes, 4u * (8 * 4 + 8 + 2 * 8));
  const double relu = 3 * 8;
  EXPECT_EQ(s.flops, 3 * 8 * (2 * 4 + 1) + relu + 3 * 2 * 2 * 8);
  ASSERT_TRUE(s.plan);
  double planned = 0;
  for (const auto& step : s.plan->steps) planned += step->info.flops;
  EXPECT_EQ(planned, s.flops) << "the plan counts by the same definition";
}

TEST(Summary, OperatorsAfterAndBeforeFusion) {
  const auto [model, s] = open(network, {{"N", 3}});
  ASSERT_EQ(s.operators.size(), 2u);
  EXPECT_EQ(s.operators[0].op, "fused linear+relu");
  EXPECT_EQ(s.operators[1].op, "linear");
  ASSERT_EQ(s.imported.size(), 2u);
  EXPECT_EQ(s.imported[0].op, "linear");
  EXPECT_EQ(s.imported[0].count, 2);
}

TEST(Summary, ModulesAddUpToTheWhole) {
  const auto [model, s] = open(network, {{"N", 3}});
  const auto tree = module_tree(s.modules, 2);
  std::vector<std::string> paths;
  for (const ModuleCost& m : tree) paths.push_back(m.module);
  EXPECT_EQ(paths, (std::vector<std::string>{"body", "body.a", "body.act", "head"}));
  EXPECT_EQ(tree[0].flops, tree[1].flops + tree[2].flops);
  EXPECT_EQ(tree[0].flops + tree[3].flops, s.flops);
  EXPECT_EQ(tree[1].numbers, 8 * 4 + 8);
  EXPECT_EQ(tree[3].numbers, 2 * 8);
  EXPECT_EQ(module_tree(s.modules, 1).size(), 2u);
}

TEST(Summary, SizesAreExplained) {
  const auto [model, s] = open(network, {});
  EXPECT_EQ(explain_sizes(model),
            (std::vector<std::string>{"N: 1 to 64 (dim 0 of input x)", "4 of x: fixed"}));
}

TEST(Summary, TheJsonLinksGraphsAndSteps) {
  const auto [model, s] = open(network, {{"N", 3}});
  const auto json = to_json(model, s);
  EXPECT_EQ(json["schema"], "tenon.model/1");
  EXPECT_EQ(json["sizes"]["N"], 3);
  const auto& imported = json["graphs"]["imported"]["nodes"];
  const auto& fused = json["graphs"]["fused"]["nodes"];
  ASSERT_EQ(imported.size(), 3u);
  ASSERT_EQ(fused.size(), 2u);
  EXPECT_EQ(imported[0]["fused"], 0);
  EXPECT_EQ(imported[1]["fused"], 0);
  EXPECT_EQ(imported[2]["fused"], 1);
  EXPECT_EQ(fused[0]["members"].size(), 2u);
  EXPECT_EQ(fused[0]["outputs"][0]["origin"], imported[1]["outputs"][0]["origin"]);
  EXPECT_EQ(json["plan"]["steps"][0]["origins"][0], imported[1]["outputs"][0]["origin"]);
  EXPECT_EQ(fused[1]["inputs"][0], fused[0]["outputs"][0]["name"]);
}

TEST(Summary, AModelWithoutImportedGraphHasNone) {
  auto [model, s] = open(network, {});
  model.imported = nullptr;
  const auto json = to_json(model, s);
  EXPECT_TRUE(json["graphs"]["imported"].is_null());
  EXPECT_TRUE(json["imported_operators"].is_null());
}

}  // namespace
}  // namespace tenon
