// Convolutions, linears and matmuls take what follows them.
#include "ir/outline.h"
#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

TEST(Epilogue, ConvolutionTakesBatchNormResidualAndRelu) {
  expect_fused(R"(graph block(%x: f32[N,8,6,6]) {
  @conv.weight : f32[8,8,3,3]
  @bn.mean : f32[8]
  @bn.var : f32[8]
  @bn.weight : f32[8]
  @bn.bias : f32[8]
  %1 = conv(%x, @conv.weight, pad=1) : f32[N,8,6,6]  # conv
  %2 = batch_norm(%1, @bn.mean, @bn.var, @bn.weight, @bn.bias) : f32[N,8,6,6]  # bn
  %3 = add(%2, %x) : f32[N,8,6,6]
  %4 = relu(%3) : f32[N,8,6,6]  # relu
  return %4
}
)",
               R"(graph block(%x: f32[N,8,6,6]) {
  %1 = fused conv(%x, @conv.weight', @conv.bias', pad=1) { add(_, %x); relu } : f32[N,8,6,6]
  return %1
}
)");
}

TEST(Epilogue, FoldsBatchNormIntoTransposedAndGroupedConvolutions) {
  expect_fused(R"(graph up(%x: f32[2,4,5,5]) {
  @up.weight : f32[4,3,2,2]
  @up.bias : f32[6]
  @m : f32[6]
  @v : f32[6]
  @w : f32[6]
  @b : f32[6]
  %1 = conv_transpose(%x, @up.weight, @up.bias, stride=2, groups=2) : f32[2,6,10,10]
  %2 = batch_norm(%1, @m, @v, @w, @b, eps=0.001) : f32[2,6,10,10]
  return %2
}
)",
               R"(graph up(%x: f32[2,4,5,5]) {
  %1 = conv_transpose(%x, @up.weight', @up.bias'', stride=2, groups=2) : f32[2,6,10,10]
  return %1
}
)");
}

TEST(Epilogue, ScalesAndShiftsPassBounds) {
  expect_fused(R"(graph affine(%x: f32[N,8,6,6]) {
  @a.weight : f32[8,8,3,3]
  @b.weight : f32[8,8,3,3]
  @s : f32[8,1,1]
  %1 = conv(%x, @a.weight, pad=1) : f32[N,8,6,6]
  %2 = relu(%1) : f32[N,8,6,6]
  %3 = mul(@s, %2) : f32[N,8,6,6]
  %4 = add(%3, 0.5) : f32[N,8,6,6]
  %5 = conv(%4, @b.weight, pad=1) : f32[N,8,6,6]
  %6 = clamp(%5, min=0.0, max=6.0) : f32[N,8,6,6]
  %7 = mul(%6, 0.25) : f32[N,8,6,6]
  return %7
}
)",
               R"(graph affine(%x: f32[N,8,6,6]) {
  %1 = fused conv(%x, @a.weight', @a.bias', pad=1) { clamp(_, min=0.5) } : f32[N,8,6,6]
  %2 = fused conv(%1, @b.weight', pad=1) { clamp(_, min=0.0, max=1.5) } : f32[N,8,6,6]
  return %2
}
)");
}

TEST(Epilogue, ScalesThatTurnBoundsRoundStayBehindThem) {
  expect_fused(R"(graph turned(%x: f32[N,4]) {
  @w : f32[4,4]
  @v : f32[4,4]
  @t : f32[4]
  %1 = linear(%x, @w) : f32[N,4]
  %2 = relu(%1) : f32[N,4]
  %3 = mul(%2, -2.0) : f32[N,4]
  %4 = linear(%3, @v) : f32[N,4]
  %5 = relu(%4) : f32[N,4]
  %6 = add(%5, @t) : f32[N,4]
  return %6
}
)",
               R"(graph turned(%x: f32[N,4]) {
  %1 = fused linear(%x, @w) { relu; mul(_, -2.0) } : f32[N,4]
  %2 = fused linear(%1, @v) { relu; add(_, @t) } : f32[N,4]
  return %2
}
)");
}

TEST(Epilogue, LinearTakesAnActivationWithTwoUses) {
  expect_fused(R"(graph swish(%x: f32[N,4]) {
  @w : f32[4,4]
  @b : f32[4]
  %1 = linear(%x, @w) : f32[N,4]
  %2 = add(%1, @b) : f32[N,4]
  %3 = sigmoid(%2) : f32[N,4]
  %4 = mul(%2, %3) : f32[N,4]
  return %4
}
)",
               R"(graph swish(%x: f32[N,4]) {
  %1 = fused linear(%x, @w, @w.bias') { silu } : f32[N,4]
  return %1
}
)");
}

TEST(Epilogue, KeepsAResultThatIsUsedElsewhere) {
  const std::string text = R"(graph two_uses(%x: f32[N,4]) {
  @w : f32[4,4]
  @b : f32[4]
  %1 = linear(%x, @w) : f32[N,4]
  %2 = add(%1, @b) : f32[N,4]
  return %1, %2
}
)";
  expect_refused(text, "fold_shift", "the result of the linear is used more than once");
}

TEST(Epilogue, SaysWhyItStops) {
  expect_refused(R"(graph stops(%x: f32[N,4]) {
  @w : f32[4,4]
  %1 = linear(%x, @w) : f32[N,4]
  %2 = softmax(%1, axis=1) : f32[N,4]
  return %2
}
)",
                 "epilogue", "softmax is not pointwise");
}

TEST(Epilogue, ATransposedWeightMakesALinear) {
  expect_same({R"(graph g(%x: f32[N,4]) {
  @w : f32[3,4]
  %1 = linear(%x, @w) : f32[N,3]
  return %1
}
)",
               R"(graph g(%x: f32[N,4]) {
  @w : f32[3,4]
  %1 = permute(@w, axes=[1,0]) : f32[4,3]
  %2 = matmul(%x, %1) : f32[N,3]
  return %2
}
)"});
}

TEST(Rewrites, AreNumberedLimitedAndSwitchedOff) {
  const std::string text = R"(graph g(%x: f32[N,4]) {
  @w : f32[4,4]
  @b : f32[4]
  %1 = linear(%x, @w) : f32[N,4]
  %2 = add(%1, @b) : f32[N,4]
  %3 = relu(%2) : f32[N,4]
  return %3
}
)";
  const auto all = graph_with_data(text);
  const FuseReport report = fuse(*all);
  ASSERT_EQ(report.rewrites.size(), 2u);
  EXPECT_EQ(report.rewrites[0].rule, "fold_shift");
  EXPECT_EQ(report.rewrites[1].rule, "epilogue");
  EXPECT_EQ(report.rewrites[1].text, "linear+relu");
  for (int n = 0; n <= 2; ++n) {
    const auto graph = graph_with_data(text);
    EXPECT_EQ(fuse(*graph, {.stop_after = n}).rewrites.size(), static_cast<std::size_t>(n));
    expect_equal_results(*all, *graph);
  }
  const auto off = graph_with_data(text);
  EXPECT_EQ(fuse(*off, {.off = {"fold_shift", "fuse_anchors"}}).rewrites.size(), 1u);
  EXPECT_THROW(fuse(*off, {.off = {"no_such_rule"}}), Error);
}

// The rows may be chosen before the linear or behind it, by indices of any rank, from either operand.
TEST(Epilogue, RowsThatIndicesChooseAreAddedWhereTheyLie) {
  expect_fused(R"(graph g(%e: f32[E,4], %h: f32[N,6], %from: i64[E]) {
  @w : f32[6,4]
  %1 = index_select(%h, %from) : f32[E,6]
  %2 = linear(%e, @w) : f32[E,6]
  %3 = add(%1, %2) : f32[E,6]
  %4 = relu(%3) : f32[E,6]
  return %4
}
)",
               R"(graph g(%e: f32[E,4], %h: f32[N,6], %from: i64[E]) {
  %1 = fused %1.1 = index_select(%h, %from) { linear(%e, @w); add(%1.1, _); relu } : f32[E,6]
  return %1
}
)");
  expect_fused(R"(graph g(%e: f32[B,E,4], %h: f32[N,6], %from: i32[B,E]) {
  @w : f32[6,4]
  %1 = linear(%e, @w) : f32[B,E,6]
  %2 = index(%h, %from, axes=0) : f32[B,E,6]
  %3 = add(%1, %2) : f32[B,E,6]
  return %3
}
)",
               R"(graph g(%e: f32[B,E,4], %h: f32[N,6], %from: i32[B,E]) {
  %1 = fused %1.1 = linear(%e, @w) { index(%h, %from, axes=0); add(%1.1, _) } : f32[B,E,6]
  return %1
}
)");
}

// Rows that somebody else reads, rows of no matrix, rows that are added later, linears that are read twice.
TEST(Epilogue, OtherGathersStayOutside) {
  const auto expect_outside = [](const std::string& text) {
    const auto graph = graph_with_data(text);
    fuse(*graph);
    for (const auto& [kind, count] : count_kinds(*graph))
      EXPECT_FALSE(kind.find("linear") != kind.npos && kind.find("index_select") != kind.npos)
          << text << kind;
  };
  const std::string head =
      "graph g(%e: f32[E,4], %h: f32[N,6], %t: f32[N,1,6], %from: i64[E]) {\n  @w : f32[6,4]\n"
      "  %1 = linear(%e, @w) : f32[E,6]\n";
  const std::string rows = "  %2 = index_select(%h, %from) : f32[E,6]\n";
  expect_outside(head + rows + "  %3 = add(%1, %2) : f32[E,6]\n  return %3, %2\n}\n");
  expect_outside(head + rows + "  %3 = relu(%1) : f32[E,6]\n  %4 = add(%3, %2) : f32[E,6]\n  return %4\n}\n");
  expect_outside(head + rows + "  %3 = add(%1, %2) : f32[E,6]\n  return %3, %1\n}\n");
  expect_outside(head + rows + "  %3 = mul(%1, %2) : f32[E,6]\n  return %3\n}\n");
  expect_outside(head +
                 "  %2 = index_select(%t, %from) : f32[E,1,6]\n  %3 = add(%1, %2) : f32[E,E,6]\n"
                 "  return %3\n}\n");
}

}  // namespace
}  // namespace tenon::testing
