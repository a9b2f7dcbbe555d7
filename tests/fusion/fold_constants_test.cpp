// What is made of weights alone becomes a weight where that costs little memory, or saves much time.
#include <fmt/format.h>

#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

// Without the passes that group.
std::string folded(const std::string& text) {
  const auto original = graph_with_data(text);
  const auto graph = clone(*original);
  fuse(*graph, {.fuse = false});
  expect_equal_results(*original, *graph);
  return body_text(*graph);
}

TEST(FoldConstants, AResultNoLargerThanItsWeights) {
  EXPECT_EQ(folded(R"(graph g(%x: f32[300,300]) {
  @a : f32[300,300]
  @b : f32[300,300]
  %1 = mul(@a, @b) : f32[300,300]
  %2 = add(%x, %1) : f32[300,300]
  return %2
}
)"),
            R"(graph g(%x: f32[300,300]) {
  %1 = add(%x, @a') : f32[300,300]
  return %1
}
)");
}

TEST(FoldConstants, WhatIsMadeOfLittleStaysSmall) {
  constexpr const char* mask = R"(graph g(%x: f32[300,300]) {
  @a : f32[300,1]
  @b : f32[300]
  %1 = mul(@a, @b) : f32[300,300]
  %2 = add(%x, %1) : f32[300,300]
  return %2
}
)";
  EXPECT_NE(folded(mask).find("mul("), std::string::npos);
}

// As the biases of positions in Swin, which a small network makes of a table: what lies between is large.
TEST(FoldConstants, ProductsOfWeights) {
  EXPECT_EQ(folded(R"(graph g(%x: f32[2,2401,16]) {
  @table : f32[2401,2]
  @up : f32[512,2]
  @down : f32[16,512]
  %1 = linear(@table, @up) : f32[2401,512]
  %2 = relu(%1) : f32[2401,512]
  %3 = linear(%2, @down) : f32[2401,16]
  %4 = add(%x, %3) : f32[2,2401,16]
  return %4
}
)"),
            R"(graph g(%x: f32[2,2401,16]) {
  %1 = add(%x, @down') : f32[2,2401,16]
  return %1
}
)");
}

TEST(FoldConstants, SinesOfPositions) {
  EXPECT_EQ(folded(R"(graph g(%x: f32[700,64]) {
  @places : f32[700,1]
  @rates : f32[64]
  %1 = mul(@places, @rates) : f32[700,64]
  %2 = cos(%1) : f32[700,64]
  %3 = mul(%x, %2) : f32[700,64]
  return %3
}
)"),
            R"(graph g(%x: f32[700,64]) {
  %1 = mul(%x, @cos) : f32[700,64]
  return %1
}
)");
}

// All together may take 4 MiB more than an eighth of the weights: of ten tables of 1.25 MiB, three.
TEST(FoldConstants, TablesOfSinesHaveABudget) {
  std::string text = "graph g(%x: f32[5120,64]) {\n  @places : f32[5120,1]\n";
  for (int i = 0; i < 10; ++i) text += fmt::format("  @rates{} : f32[64]\n", i);
  std::string last = "%x";
  for (int i = 0; i < 10; ++i) {
    const int n = 3 * i;
    text += fmt::format(
        "  %{} = mul(@places, @rates{}) : f32[5120,64]\n  %{} = sin(%{}) : f32[5120,64]\n"
        "  %{} = add({}, %{}) : f32[5120,64]\n",
        n + 1, i, n + 2, n + 1, n + 3, last, n + 2);
    last = fmt::format("%{}", n + 3);
  }
  const std::string after = folded(text + "  return " + last + "\n}\n");
  std::size_t sines = 0;
  for (std::size_t at = after.find("sin("); at != std::string::npos; at = after.find("sin(", at + 1)) ++sines;
  EXPECT_EQ(sines, 7u);
}

}  // namespace
}  // namespace tenon::testing
