// Branches of one image that are added become one convolution.
#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

TEST(JoinConvolutions, AddsTheWeightsOfABranchToTheTapsThatReadTheSamePixels) {
  expect_fused(R"(graph branches(%x: f32[N,4,9,9]) {
  @v : f32[6,4,1,1]
  @v.bias : f32[6]
  @w : f32[6,4,3,3]
  @w.bias : f32[6]
  %1 = conv(%x, @v, @v.bias, stride=[2,2]) : f32[N,6,5,5]
  %2 = conv(%x, @w, @w.bias, stride=[2,2], pad=[1,1]) : f32[N,6,5,5]
  %3 = add(%1, %2) : f32[N,6,5,5]
  %4 = relu(%3) : f32[N,6,5,5]
  return %4
}
)",
               R"(graph branches(%x: f32[N,4,9,9]) {
  %1 = fused conv(%x, @w', @w.bias', stride=[2,2], pad=[1,1]) { relu } : f32[N,6,5,5]
  return %1
}
)");
}

TEST(JoinConvolutions, AddsAScaledImageToTheMiddleTapsOfItsChannels) {
  for (const char* groups : {"1", "2", "4"}) {
    const std::string each = std::to_string(4 / std::stoi(groups));
    expect_fused(R"(graph identity(%x: f32[N,4,9]) {
  @s : f32[4,1]
  @t : f32[4,1]
  @w : f32[4,)" + each +
                     R"(,5]
  %1 = mul(%x, @s) : f32[N,4,9]
  %2 = add(%1, @t) : f32[N,4,9]
  %3 = conv(%x, @w, pad=[4], dilation=[2], groups=)" +
                     groups + R"() : f32[N,4,9]
  %4 = add(%2, %3) : f32[N,4,9]
  return %4
}
)",
                 R"(graph identity(%x: f32[N,4,9]) {
  %1 = conv(%x, @w', @t', pad=4, dilation=2)" +
                     (*groups == '1' ? std::string() : std::string(", groups=") + groups) + R"() : f32[N,4,9]
  return %1
}
)");
  }
}

TEST(JoinConvolutions, JoinsBranchesWithTheirNorms) {
  const auto branches = graph_with_data(R"(graph block(%x: f32[N,4,8,8]) {
  @v : f32[4,4,1,1]
  @w : f32[4,4,3,3]
  @m : f32[4]
  @s : f32[4]
  @g : f32[4]
  @b : f32[4]
  %1 = conv(%x, @v) : f32[N,4,8,8]
  %2 = batch_norm(%1, @m, @s, @g, @b) : f32[N,4,8,8]
  %3 = conv(%x, @w, pad=[1]) : f32[N,4,8,8]
  %4 = batch_norm(%3, @m, @s, @g, @b) : f32[N,4,8,8]
  %5 = batch_norm(%x, @m, @s, @g, @b) : f32[N,4,8,8]
  %6 = add(%5, %2) : f32[N,4,8,8]
  %7 = add(%6, %4) : f32[N,4,8,8]
  return %7
}
)");
  const auto joined = clone(*branches);
  fuse(*joined);
  EXPECT_EQ(joined->body().nodes().size(), 1u);
  expect_equal_results(*branches, *joined);
}

TEST(JoinConvolutions, LeavesBranchesThatReadOtherPixels) {
  for (const char* dilation : {"1", "2"}) {
    const std::string pad = *dilation == '1' ? "[1]" : "[2]";
    const bool nested = *dilation == '1';
    const auto graph = graph_with_data(R"(graph dilated(%x: f32[N,4,8]) {
  @v : f32[4,4,3]
  @w : f32[4,4,3]
  %1 = conv(%x, @v, pad=)" + pad + ", dilation=[" +
                                       dilation + R"(]) : f32[N,4,8]
  %2 = conv(%x, @w, pad=[1]) : f32[N,4,8]
  %3 = add(%1, %2) : f32[N,4,8]
  return %3
}
)");
    fuse(*graph, {.fuse = false});
    EXPECT_EQ(graph->body().nodes().size(), nested ? 1u : 3u);
  }
}

// Their sums wrap around.
TEST(JoinConvolutions, LeavesIntegers) {
  const auto graph = graph_with_data(R"(graph integers(%x: i32[1,3,5,5]) {
  @v : i32[4,3,3,3]
  @w : i32[4,3,3,3]
  %1 = conv(%x, @v) : i32[1,4,3,3]
  %2 = conv(%x, @w) : i32[1,4,3,3]
  %3 = add(%1, %2) : i32[1,4,3,3]
  return %3
}
)");
  fuse(*graph, {.fuse = false});
  EXPECT_EQ(graph->body().nodes().size(), 3U);
}

TEST(JoinConvolutions, KeepsABranchThatIsUsedElsewhere) {
  expect_refused(R"(graph two_uses(%x: f32[N,4,8,8]) {
  @v : f32[4,4,1,1]
  @w : f32[4,4,3,3]
  %1 = conv(%x, @v) : f32[N,4,8,8]
  %2 = conv(%x, @w, pad=[1,1]) : f32[N,4,8,8]
  %3 = add(%1, %2) : f32[N,4,8,8]
  return %3, %1
}
)",
                 "sum_of_convolutions", "the result of the conv is used more than once");
}

}  // namespace
}  // namespace tenon::testing
