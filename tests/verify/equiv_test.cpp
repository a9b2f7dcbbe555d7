// Graphs are the same up to names and the order of independent nodes; where they are not, the first node says
// so.
#include "verify/equiv.h"

#include "base/error.h"
#include "tests/verify/suspects.h"

namespace tenon {
namespace {

using namespace testing;

std::unique_ptr<Graph> known(const std::string& text) {
  return specialize(*imported_graph(text), {{"N", 2}, {"batch", 2}});
}

GraphComparison compared(const std::string& a, const std::string& b) {
  const auto x = known(a), y = known(b);
  return compare_graphs(*x, *y, match_inputs(*x, *y), match_outputs(*x, *y));
}

std::optional<GraphDifference> difference(const std::string& a, const std::string& b) {
  return compared(a, b).difference;
}

const std::string two_branches = R"(graph a(%x: f32[N,8]) {
  @w : f32[8,8]
  @v : f32[8,8]
  %1 = linear(%x, @w) : f32[N,8] # left
  %2 = linear(%x, @v) : f32[N,8] # right
  %3 = fused sub(%1, %2) { relu } : f32[N,8] # out
  return %3
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(Equiv, NamesAndTheOrderOfNodesDoNotMatter) {
  EXPECT_FALSE(difference(two_branches, two_branches));
  EXPECT_FALSE(difference(two_branches, R"(graph b(%input: f32[batch,8]) {
  @first : f32[8,8]
  @second : f32[8,8]
  %1 = linear(%input, @second) : f32[batch,8]
  %2 = linear(%input, @first) : f32[batch,8]
  %3 = fused sub(%2, %1) { relu } : f32[batch,8]
  return %3
}
)"));
}

TEST(Equiv, TheFirstNodeThatDiffersIsNamed) {
  const auto inside = difference(two_branches, replaced(two_branches, "relu", "tanh"));
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->why, "the operators differ");
  EXPECT_NE(inside->a.find("relu"), std::string::npos);
  EXPECT_NE(inside->b.find("tanh"), std::string::npos);
  EXPECT_EQ(inside->location_a, "out");
  const auto operand = difference(two_branches, replaced(two_branches, "linear(%x, @v)", "linear(%1, @v)"));
  ASSERT_TRUE(operand);
  EXPECT_EQ(operand->location_a, "right");
}

TEST(Equiv, AnotherResultOfAnOperatorIsADifference) {
  const std::string two = R"(graph g(%x: f32[N,6]) {
  %1, %2 = fused { %1.1 = exp(%x); %1.2 = neg(%1.1); return %1.1, %1.2 } : f32[N,6], f32[N,6]
  return %1
}
)";
  const auto other = difference(two, replaced(two, "return %1\n", "return %2\n"));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->why, "another result of the operator is used");
}

TEST(Equiv, LongChainsAreCompared) {
  std::string chain = "graph g(%x: f32[N,8]) {\n  %0 = relu(%x) : f32[N,8]\n";
  for (int i = 1; i < 100'000; ++i)
    chain += fmt::format("  %{} = {}(%{}) : f32[N,8]\n", i, i % 2 ? "neg" : "exp", i - 1);
  chain += "  return %99999\n}\n";
  const auto g = imported_graph(chain);
  EXPECT_TRUE(compare_graphs(*g, *g, {0}, {0}).same());
}

TEST(Equiv, WeightsAreComparedByContent) {
  const auto swapped = difference(two_branches, replaced(two_branches, "sub(%1, %2)", "sub(%2, %1)"));
  ASSERT_TRUE(swapped);
  EXPECT_EQ(swapped->why, "the weights @w and @v differ");
  EXPECT_EQ(swapped->location_a, "left");
  EXPECT_EQ(swapped->location_b, "right");
}

TEST(Equiv, NumbersInTheirLastBitsAreCounted) {
  const std::string scaled = "graph g(%x: f32[N,8]) {\n  %1 = mul(%x, 0.3) : f32[N,8]\n  return %1\n}\n";
  const auto near = compared(scaled, replaced(scaled, "0.3", "0.30000003"));
  EXPECT_TRUE(near.alike());
  EXPECT_FALSE(near.same());
  EXPECT_EQ(near.but_for(), "weights or numbers in their last bits (1, at most 9.9e-08)");
  for (const char* other : {"0.3001", "0.300001"})
    EXPECT_EQ(difference(scaled, replaced(scaled, "0.3", other))->why, "the constants differ");
}

TEST(Equiv, IndicesThatMayCountFromTheEnd) {
  const std::string plain = R"(graph g(%i: i64[N]) {
  @w : f32[8,8]
  %1 = index_select(@w, %i) : f32[N,8]
  return %1
}
)";
  const std::string counted = R"(graph g(%i: i64[N]) {
  @w : f32[8,8]
  %1 = fused { %1.1 = add(%i, 8); %1.2 = less(%i, 0); %1.3 = where(%1.2, %1.1, %i); return %1.3 } : i64[N]
  %2 = index_select(@w, %1) : f32[N,8]
  return %2
}
)";
  EXPECT_TRUE(compared(counted, counted).same());
  for (const auto& found : {compared(plain, counted), compared(counted, plain)}) {
    EXPECT_TRUE(found.alike());
    EXPECT_FALSE(found.same());
    EXPECT_EQ(found.but_for(), "negative indices that count from the end (1)");
  }
  for (const auto& [is, other] : {std::pair{"less(%i, 0)", "less(%i, 3)"}, {"add(%i, 8)", "add(%i, 9)"}})
    EXPECT_FALSE(compared(plain, replaced(counted, is, other)).alike());
}

TEST(Equiv, SumsWhoseIndicesMayCountFromTheEnd) {
  const std::string plain = R"(graph g(%x: f32[8,2], %z: f32[8,2], %i: i64[N], %y: f32[N,2]) {
  %1 = index_add(%x, %i, %y) : f32[8,2]
  return %1
}
)";
  const std::string counted = replaced(plain, "%y)", "%y, from_end=true)");
  EXPECT_TRUE(compared(counted, counted).same());
  EXPECT_EQ(compared(plain, counted).but_for(), "negative indices that count from the end (1)");
  EXPECT_FALSE(compared(plain, replaced(counted, "index_add(%x", "index_add(%z")).alike());
}

TEST(Equiv, InputsAreMatchedByNameElseInOrder) {
  const auto graph = [](const std::string& inputs) {
    return parse("graph g(" + inputs + ") {\n  return %a\n}\n");
  };
  const auto ab = graph("%a: f32[N,2], %b: f32[N,3]");
  EXPECT_EQ(match_inputs(*ab, *graph("%b: f32[N,3], %a: f32[N,2]")), (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(match_inputs(*ab, *graph("%a: f32[4,2], %c: f32[4,3]")), (std::vector<std::size_t>{0, 1}));
  EXPECT_THROW(match_inputs(*ab, *graph("%a: f32[N,2]")), Error);
  EXPECT_THROW(match_inputs(*ab, *graph("%a: f32[N,2], %b: f32[N,4]")), Error);
  EXPECT_THROW(match_inputs(*ab, *graph("%a: f32[N,2], %b: f64[N,3]")), Error);
}

}  // namespace
}  // namespace tenon
