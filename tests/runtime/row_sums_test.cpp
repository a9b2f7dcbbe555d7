// Sums of rows by index (the messages along a graph's edges): whatever is around them, sorted once for all
// layers.
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

TEST(RowSums, OfGatheredRows) {
  expect_same_as_reference(
      R"(graph g(%x: f32[4,6], %w: f32[E,1], %from: i64[E], %to: i64[E], %start: f32[4,6]) {
  %1 = fused { index_select(%x, %from, axis=0); mul(_, %w); index_add(%start, %to, _, axis=0) } : f32[4,6]
  %2 = index_select(%1, %from, axis=0) : f32[E,6]
  %3 = full(shape=[4,6]) : f32[4,6]
  %4 = index_add(%3, %to, %2, axis=0) : f32[4,6]
  return %4
}
)",
      {{{"E", 1}}, {{"E", 9}}});
}

constexpr const char* layers_of_edges = R"(graph g(%x: f32[4,6], %w: f32[E,1], %from: i64[E], %to: i64[E]) {
  %1 = full(shape=[4,6]) : f32[4,6]
  %2 = fused { index_select(%x, %from, axis=0); mul(_, %w); index_add(%1, %to, _, axis=0) } : f32[4,6]
  %3 = relu(%2) : f32[4,6]
  %4 = fused { index_select(%3, %from, axis=0); mul(_, %w); index_add(%1, %to, _, axis=0) } : f32[4,6]
  %5 = fused { index_select(%4, %from, axis=0); index_add(%1, %to, _, axis=0) } : f32[4,6]
  %6 = fused { index(%5, %from, axes=0); index_add(%1, %to, _, axis=0) } : f32[4,6]
  return %6
}
)";

TEST(RowSums, LayersShareTheEdgesInOrder) {
  expect_same_as_reference(layers_of_edges, {{{"E", 1}}, {{"E", 9}}});
  // With the weights, without them, and counted from the end.
  const std::vector<std::string> kernels = {"sort edges", "sparse product", "loop",       "sparse product",
                                            "sort edges", "sparse product", "sort edges", "sparse product"};
  const auto plan = plan_of(layers_of_edges, {{"E", 9}});
  EXPECT_EQ(kernels_of(*plan), kernels) << plan->text();
}

TEST(RowSums, LayersWithWeightsOfTheirOwnShareTheEdgesInOrder) {
  const std::string text =
      R"(graph g(%x: f32[4,2,3], %a: f32[E,2,1], %b: f32[E,1,1], %from: i64[E], %to: i64[E]) {
  %1 = full(shape=[4,2,3]) : f32[4,2,3]
  %2 = fused { index_select(%x, %from); mul(_, %a); index_add(%1, %to, _) } : f32[4,2,3]
  %3 = fused { index_select(%2, %from); mul(_, %b); index_add(%1, %to, _) } : f32[4,2,3]
  return %3
}
)";
  expect_same_as_reference(text, {{{"E", 9}}});
  const auto plan = plan_of(text, {{"E", 9}});
  EXPECT_EQ(kernels_of(*plan), (std::vector<std::string>{"sort edges", "sparse product", "sparse product"}));
}

TEST(RowSums, ConstantEdgesAreSortedWhileThePlanIsMade) {
  const std::string text = R"(graph g(%x: f32[4,6]) {
  @w : f32[9,1]
  @from : i64[9]
  @to : i64[9]
  %1 = full(shape=[4,6]) : f32[4,6]
  %2 = fused { index_select(%x, @from, axis=0); mul(_, @w); index_add(%1, @to, _, axis=0) } : f32[4,6]
  return %2
}
)";
  expect_same_as_reference(text);
  EXPECT_EQ(kernels_of(*plan_of(text)), (std::vector<std::string>{"sparse product"}));
}

// What surrounds the sum does not matter: heads, their weights, rows that are views, sums of other rows.
TEST(RowSums, EveryWeightingOfEdges) {
  struct Case {
    const char *x, *weights, *body, *result;
  };
  const Case cases[] = {
      {"4,3,5", "E,3,1", "index_select(%x, %from); mul(_, %w)", "4,3,5"},
      {"4,2,16", "E,2,1", "index_select(%x, %from); mul(%w, _)", "4,2,16"},
      {"4,1,5", "E,1,1", "index_select(%x, %from); mul(_, %w)", "4,1,5"},
      {"4,2,3,5", "E,2,3,1", "index(%x, %from, axes=0); mul(_, %w)", "4,2,3,5"},
      {"4,2,3,5", "E,2,1,1", "index_select(%x, %from); mul(_, %w)", "4,2,3,5"},
      {"4,3,5", "E,3,5", "index_select(%x, %from); mul(_, %w)", "4,3,5"},
      {"4,15", "E,3,1",
       "index_select(%x, %from); reshape(_, shape=[E,3,5]); mul(_, %w); reshape(_, shape=[E,15])", "4,15"},
      {"E,3,5", "E,3,1", "mul(%x, %w)", "4,3,5"},
      {"4", "E", "index_select(%x, %from); mul(_, %w)", "4"},
  };
  for (const Case& c : cases)
    for (const char* index : {"i64", "i32"})
      expect_same_as_reference(
          fmt::format("graph g(%x: f32[{}], %w: f32[{}], %from: {}[E], %to: i64[E], %s: f32[{}]) {{\n"
                      "  %1 = fused {{ {}; index_add(%s, %to, _) }} : f32[{}]\n"
                      "  return %1\n}}\n",
                      c.x, c.weights, index, c.result, c.body, c.result),
          {{{"E", 0}}, {{"E", 1}}, {{"E", 9}}});
}

TEST(RowSums, WeightsThatAreTransposedAreCopied) {
  expect_same_as_reference(R"(graph g(%x: f32[4,3,5], %w: f32[3,9], %from: i64[9], %to: i64[9]) {
  %1 = full(shape=[4,3,5]) : f32[4,3,5]
  %2 = permute(%w, axes=[1,0]) : f32[9,3]
  %3 = reshape(%2, shape=[9,3,1]) : f32[9,3,1]
  %4 = fused { index_select(%x, %from); mul(_, %3); index_add(%1, %to, _) } : f32[4,3,5]
  return %4
}
)");
}

// A weight of a column is no weight of an edge, though there are as many.
TEST(RowSums, WeightsOfColumnsAreNoWeightsOfEdges) {
  for (const char* weight : {"%w: f32[1,4]", "%w: f32[4,1]"})
    for (const char* product : {"mul(%x, %w)", "mul(%w, %x)"})
      expect_same_as_reference(
          fmt::format("graph g(%x: f32[4,4], {}, %i: i64[4]) {{\n"
                      "  %1 = full(shape=[4,4]) : f32[4,4]\n"
                      "  %2 = fused {{ {}; index_add(%1, %i, _) }} : f32[4,4]\n"
                      "  return %2\n}}\n",
                      weight, product));
}

TEST(RowSums, OfIndicesThatCountFromTheEnd) {
  const std::string text = R"(graph g(%x: f32[4,6], %y: f32[5,6], %to: i64[5]) {
  %1 = index_add(%x, %to, %y, from_end=true) : f32[4,6]
  return %1
}
)";
  const auto graph = graph_of(text);
  auto inputs = inputs_of(*graph, {});
  inputs[2] = Tensor::of<int>(DType::i64, {5}, {-1, 0, 3, -4, -2});
  Session session(graph);
  expect_close(session.run(inputs)[0], evaluate(*graph, inputs)[0]);
  inputs[2].set_int(Index{1}, -5);
  expect_refused(session, inputs, "index -5 is outside of [-4, 4)");
}

TEST(RowSums, RefusesAnEdgeOutOfRangeInEveryRun) {
  const auto graph = graph_of(layers_of_edges);
  Session session(graph);
  for (const auto& [input, index] : {std::pair<std::size_t, int>{2, 4}, {2, -1}, {3, 4}, {3, -1}}) {
    auto inputs = inputs_of(*graph, {{"E", 9}});
    inputs[input].set_int(Index{5}, index);
    for (int run = 0; run < 2; ++run)
      expect_refused(session, inputs, fmt::format("index {} is outside of [0, 4)", index));
  }
}

}  // namespace
}  // namespace tenon::testing
