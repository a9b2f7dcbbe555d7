// Every spelling of an operator becomes the operator.
#include <map>

#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

TEST(Raise, GeluInEveryBracketing) {
  expect_same({R"(graph g(%x: f32[N,4]) {
  %1 = gelu(%x) : f32[N,4]
  return %1
}
)",
               R"(graph g(%x: f32[N,4]) {
  %1 = mul(%x, 0.5) : f32[N,4]
  %2 = div(%x, 1.4142135623730951) : f32[N,4]
  %3 = erf(%2) : f32[N,4]
  %4 = add(%3, 1.0) : f32[N,4]
  %5 = mul(%1, %4) : f32[N,4]
  return %5
}
)",
               R"(graph g(%x: f32[N,4]) {
  %1 = mul(%x, 0.7071067811865476) : f32[N,4]
  %2 = erf(%1) : f32[N,4]
  %3 = add(1.0, %2) : f32[N,4]
  %4 = mul(%x, %3) : f32[N,4]
  %5 = mul(%4, 0.5) : f32[N,4]
  return %5
}
)"});
}

TEST(Raise, SoftmaxAndLayerNorm) {
  expect_same({R"(graph g(%x: f32[N,6]) {
  %1 = softmax(%x, axis=1) : f32[N,6]
  return %1
}
)",
               R"(graph g(%x: f32[N,6]) {
  %1 = amax(%x, axes=1, keepdim=true) : f32[N,1]
  %2 = sub(%x, %1) : f32[N,6]
  %3 = exp(%2) : f32[N,6]
  %4 = sum(%3, axes=1, keepdim=true) : f32[N,1]
  %5 = div(%3, %4) : f32[N,6]
  return %5
}
)"});
  expect_same({R"(graph g(%x: f32[N,6]) {
  %1 = layer_norm(%x, eps=1e-06) : f32[N,6]
  return %1
}
)",
               R"(graph g(%x: f32[N,6]) {
  %1 = mean(%x, axes=1, keepdim=true) : f32[N,1]
  %2 = sub(%x, %1) : f32[N,6]
  %3 = pow(%2, 2.0) : f32[N,6]
  %4 = mean(%3, axes=1, keepdim=true) : f32[N,1]
  %5 = add(%4, 1e-06) : f32[N,1]
  %6 = sqrt(%5) : f32[N,1]
  %7 = div(%2, %6) : f32[N,6]
  return %7
}
)",
               R"(graph g(%x: f32[N,6]) {
  %1 = mean(%x, axes=1, keepdim=true) : f32[N,1]
  %2 = sub(%x, %1) : f32[N,6]
  %3 = mul(%2, %2) : f32[N,6]
  %4 = mean(%3, axes=1, keepdim=true) : f32[N,1]
  %5 = add(1e-06, %4) : f32[N,1]
  %6 = rsqrt(%5) : f32[N,1]
  %7 = mul(%6, %2) : f32[N,6]
  return %7
}
)"});
}

TEST(Raise, AttentionWithScaleAndMask) {
  expect_fused(R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,7,4], %v: f32[2,3,7,4], %mask: f32[2,1,1,7]) {
  %1 = permute(%k, axes=[0,1,3,2]) : f32[2,3,4,7]
  %2 = matmul(%q, %1) : f32[2,3,5,7]
  %3 = div(%2, 2.0) : f32[2,3,5,7]
  %4 = add(%3, %mask) : f32[2,3,5,7]
  %5 = softmax(%4, axis=3) : f32[2,3,5,7]
  %6 = matmul(%5, %v) : f32[2,3,5,4]
  return %6
}
)",
               R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,7,4], %v: f32[2,3,7,4], %mask: f32[2,1,1,7]) {
  %1 = attention(%q, %k, %v, %mask, nan_rows=true) : f32[2,3,5,4]
  return %1
}
)");
}

TEST(Raise, AttentionWithFilledScores) {
  expect_fused(R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,7,4], %v: f32[2,3,7,4], %m: bool[5,7]) {
  %1 = permute(%k, axes=[0,1,3,2]) : f32[2,3,4,7]
  %2 = matmul(%q, %1) : f32[2,3,5,7]
  %3 = mul(%2, 0.5) : f32[2,3,5,7]
  %4 = where(%m, %3, -inf:f32) : f32[2,3,5,7]
  %5 = softmax(%4, axis=3) : f32[2,3,5,7]
  %6 = matmul(%5, %v) : f32[2,3,5,4]
  return %6
}
)",
               R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,7,4], %v: f32[2,3,7,4], %m: bool[5,7]) {
  %1 = attention(%q, %k, %v, %m, nan_rows=true) : f32[2,3,5,4]
  return %1
}
)");
  expect_refused(R"(graph g(%q: f32[2,5,4], %k: f32[2,4,7], %v: f32[2,7,4], %m: bool[5,7]) {
  %1 = matmul(%q, %k) : f32[2,5,7]
  %2 = where(%m, -10000.0:f32, %1) : f32[2,5,7]
  %3 = softmax(%2, axis=2) : f32[2,5,7]
  %4 = matmul(%3, %v) : f32[2,5,4]
  return %4
}
)",
                 "attention", "minus infinity");
}

TEST(Raise, DeclinesWhatIsNotTheOperator) {
  expect_refused(R"(graph g(%x: f32[N,6]) {
  %1 = mul(%x, %x) : f32[N,6]
  %2 = mean(%1, axes=1, keepdim=true) : f32[N,1]
  %3 = add(%2, -1.0) : f32[N,1]
  %4 = rsqrt(%3) : f32[N,1]
  %5 = mul(%x, %4) : f32[N,6]
  return %5
}
)",
                 "rms_norm", "eps must be positive");
}

TEST(Canonicalise, LinearOverMergedRows) {
  expect_same({R"(graph g(%x: f32[2,N,6]) {
  @w : f32[4,6]
  %1 = linear(%x, @w) : f32[2,N,4]
  return %1
}
)",
               R"(graph g(%x: f32[2,N,6]) {
  @w : f32[4,6]
  %1 = reshape(%x, shape=[2*N,6]) : f32[2*N,6]
  %2 = permute(@w, axes=[1,0]) : f32[6,4]
  %3 = matmul(%1, %2) : f32[2*N,4]
  %4 = reshape(%3, shape=[2,N,4]) : f32[2,N,4]
  return %4
}
)"});
}

TEST(Canonicalise, BiasOverMergedRows) {
  expect_fused(R"(graph g(%x: f32[2,N,6]) {
  @w : f32[4,6]
  @b : f32[4]
  %1 = reshape(%x, shape=[2*N,6]) : f32[2*N,6]
  %2 = permute(@w, axes=[1,0]) : f32[6,4]
  %3 = matmul(%1, %2) : f32[2*N,4]
  %4 = add(@b, %3) : f32[2*N,4]
  %5 = reshape(%4, shape=[2,N,4]) : f32[2,N,4]
  return %5
}
)",
               R"(graph g(%x: f32[2,N,6]) {
  %1 = linear(%x, @w, @w.bias') : f32[2,N,4]
  return %1
}
)");
}

TEST(Canonicalise, MatMulOverMergedBatches) {
  expect_same({R"(graph g(%a: f32[2,N,4,6], %b: f32[2,N,6,5]) {
  %1 = matmul(%a, %b) : f32[2,N,4,5]
  return %1
}
)",
               R"(graph g(%a: f32[2,N,4,6], %b: f32[2,N,6,5]) {
  %1 = reshape(%a, shape=[2*N,4,6]) : f32[2*N,4,6]
  %2 = reshape(%b, shape=[2*N,6,5]) : f32[2*N,6,5]
  %3 = matmul(%1, %2) : f32[2*N,4,5]
  %4 = reshape(%3, shape=[2,N,4,5]) : f32[2,N,4,5]
  return %4
}
)"});
}

TEST(Canonicalise, MaxPoolsWithoutIndicesAndRows) {
  expect_same({R"(graph g(%x: f32[N,3,9]) {
  %1 = max_pool(%x, kernel=2, stride=2) : f32[N,3,4]
  return %1
}
)",
               R"(graph g(%x: f32[N,3,9]) {
  %1 = reshape(%x, shape=[N,3,1,9]) : f32[N,3,1,9]
  %2, %3 = max_pool_indices(%1, kernel=[1,2], stride=[1,2], pad=[0,0], dilation=[1,1]) : f32[N,3,1,4], i64[N,3,1,4]
  %4 = reshape(%2, shape=[N,3,4]) : f32[N,3,4]
  return %4
}
)"});
}

TEST(Raise, AttentionAsPyTorchWritesItToOnnx) {
  expect_same({R"(graph g(%q: f32[2,3,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7]) {
  %1 = attention(%q, %k, %v, %m) : f32[2,3,5,16]
  return %1
}
)",
               R"(graph g(%q: f32[2,3,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7]) {
  %1 = reshape(%k, shape=[6,7,16]) : f32[6,7,16]
  %2 = permute(%1, axes=[0,2,1]) : f32[6,16,7]
  %3 = reshape(%2, shape=[2,3,16,7]) : f32[2,3,16,7]
  %4 = mul(%q, 0.5) : f32[2,3,5,16]
  %5 = mul(%3, 0.5) : f32[2,3,16,7]
  %6 = matmul(%4, %5) : f32[2,3,5,7]
  %7 = where(%m, 0.0:f32, -inf:f32) : f32[2,1,5,7]
  %8 = add(%6, %7) : f32[2,3,5,7]
  %9 = softmax(%8, axis=3) : f32[2,3,5,7]
  %10 = isnan(%9) : bool[2,3,5,7]
  %11 = where(%10, 0.0:f32, %9) : f32[2,3,5,7]
  %12 = matmul(%11, %v) : f32[2,3,5,16]
  return %12
}
)",
               R"(graph g(%q: f32[2,3,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7]) {
  %1 = attention(%q, %k, %v, %m, scale=0.25) : f32[2,3,5,16]
  return %1
}
)"});
}

TEST(Canonicalise, WhatChangesNothingGoes) {
  expect_same({R"(graph g(%x: f32[N,4], %y: i64[N,4]) {
  %1 = rsqrt(%x) : f32[N,4]
  %2 = not_equal(%y, 1) : bool[N,4]
  %3 = logical_not(%2) : bool[N,4]
  return %1, %3
}
)",
               R"(graph g(%x: f32[N,4], %y: i64[N,4]) {
  %1 = mul(%x, 1.0) : f32[N,4]
  %2 = add(%1, 0.0) : f32[N,4]
  %3 = sqrt(%2) : f32[N,4]
  %4 = div(1.0, %3) : f32[N,4]
  %5 = equal(%y, 1) : bool[N,4]
  %6 = logical_not(%5) : bool[N,4]
  %7 = bit_not(%6) : bool[N,4]
  return %4, %7
}
)"});
}

TEST(Raise, AMaskOfLowNumbersIsNoMaskOfSeenKeys) {
  // A row that sees nothing is the mean of all values here, and 0 there.
  expect_fused(R"(graph g(%q: f32[2,3,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7]) {
  %1 = where(%m, 0.0:f32, -3.4028235e+38:f32) : f32[2,1,5,7]
  %2 = attention(%q, %k, %v, %1) : f32[2,3,5,16]
  return %2
}
)",
               R"(graph g(%q: f32[2,3,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7]) {
  %1 = where(%m, 0.0:f32, -3.4028235e+38:f32) : f32[2,1,5,7]
  %2 = attention(%q, %k, %v, %1) : f32[2,3,5,16]
  return %2
}
)");
}

TEST(Raise, AttentionAsPyTorchDecomposesIt) {
  expect_same({R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,7,4], %v: f32[2,3,7,4], %mask: f32[2,1,5,7]) {
  %1 = attention(%q, %k, %v, %mask) : f32[2,3,5,4]
  return %1
}
)",
               R"(graph g(%q: f32[2,3,5,4], %k: f32[2,3,7,4], %v: f32[2,3,7,4], %mask: f32[2,1,5,7]) {
  %1 = mul(%q, 0.70710678118654757) : f32[2,3,5,4]
  %2 = permute(%k, axes=[0,1,3,2]) : f32[2,3,4,7]
  %3 = mul(%2, 0.70710678118654757) : f32[2,3,4,7]
  %4 = matmul(%1, %3) : f32[2,3,5,7]
  %5 = add(%4, %mask) : f32[2,3,5,7]
  %6 = softmax(%5, axis=3) : f32[2,3,5,7]
  %7 = equal(%5, -inf:f32) : bool[2,3,5,7]
  %8 = logical_not(%7) : bool[2,3,5,7]
  %9 = any(%8, axes=3, keepdim=true) : bool[2,3,5,1]
  %10 = logical_not(%9) : bool[2,3,5,1]
  %11 = full(shape=[2,3,5,7]) : f32[2,3,5,7]
  %12 = where(%10, %11, %6) : f32[2,3,5,7]
  %13 = matmul(%12, %v) : f32[2,3,5,4]
  return %13
}
)"});
}

TEST(Raise, SigmoidSiluAndHardswish) {
  expect_same({R"(graph g(%x: f32[N,4]) {
  %1 = silu(%x) : f32[N,4]
  return %1
}
)",
               R"(graph g(%x: f32[N,4]) {
  %1 = neg(%x) : f32[N,4]
  %2 = exp(%1) : f32[N,4]
  %3 = add(%2, 1.0) : f32[N,4]
  %4 = div(1.0, %3) : f32[N,4]
  %5 = mul(%4, %x) : f32[N,4]
  return %5
}
)",
               R"(graph g(%x: f32[N,4]) {
  %1 = neg(%x) : f32[N,4]
  %2 = exp(%1) : f32[N,4]
  %3 = add(1.0, %2) : f32[N,4]
  %4 = div(%x, %3) : f32[N,4]
  return %4
}
)"});
  expect_same({R"(graph g(%x: f32[N,4]) {
  %1 = hardswish(%x) : f32[N,4]
  return %1
}
)",
               R"(graph g(%x: f32[N,4]) {
  %1 = add(%x, 3.0) : f32[N,4]
  %2 = clamp(%1, min=0.0) : f32[N,4]
  %3 = clamp(%2, max=6.0) : f32[N,4]
  %4 = mul(%x, %3) : f32[N,4]
  %5 = div(%4, 6.0) : f32[N,4]
  return %5
}
)"});
}

TEST(Raise, WeightsAndBiasesBelongToTheirNorm) {
  expect_same({R"(graph g(%x: f32[N,6]) {
  @w : f32[6]
  @b : f32[6]
  %1 = layer_norm(%x, @w, @b) : f32[N,6]
  return %1
}
)",
               R"(graph g(%x: f32[N,6]) {
  @w : f32[6]
  @b : f32[6]
  %1 = layer_norm(%x) : f32[N,6]
  %2 = mul(@w, %1) : f32[N,6]
  %3 = add(%2, @b) : f32[N,6]
  return %3
}
)"});
}

TEST(Raise, GroupsNormalisedOneByOneAreAGroupNorm) {
  const std::string whole = R"(graph g(%x: f32[N,6,4,4]) {
  @w : f32[6]
  @b : f32[6]
  %1 = group_norm(%x, @w, @b, groups=3) : f32[N,6,4,4]
  return %1
}
)";
  const std::string behind = R"(graph g(%x: f32[N,6,4,4]) {
  @w : f32[6,1,1]
  @b : f32[1,6,1,1]
  %1 = reshape(%x, shape=[N,3,32]) : f32[N,3,32]
  %2 = group_norm(%1, groups=3) : f32[N,3,32]
  %3 = reshape(%2, shape=[N,6,4,4]) : f32[N,6,4,4]
  %4 = mul(@w, %3) : f32[N,6,4,4]
  %5 = add(%4, @b) : f32[N,6,4,4]
  return %5
}
)";
  const auto fused = [](const std::string& text) {
    const auto graph = graph_with_data(text);
    fuse(*graph);
    return body_text(*graph);
  };
  std::string same = fused(behind);
  for (const char* name : {"@w'", "@b'"}) same.replace(same.find(name), 3, std::string(name, 2));
  EXPECT_EQ(same, fused(whole));
}

TEST(Raise, AnInstanceNormOfOnesAndZerosIsNone) {
  const std::string text = R"(graph g(%x: f32[N,6,4]) {
  @ones : f32[3]
  @zeros : f32[3]
  %1 = reshape(%x, shape=[N,3,8]) : f32[N,3,8]
  %2 = group_norm(%1, @ones, @zeros, groups=3) : f32[N,3,8]
  %3 = reshape(%2, shape=[N,6,4]) : f32[N,6,4]
  return %3
}
)";
  const auto filled = [&](double one) {
    auto graph = graph_with_data(text);
    for (const auto& w : graph->weights()) {
      Tensor t = Tensor::empty(DType::f32, {3});
      for (std::int64_t i = 0; i < 3; ++i) t.set_double({{i}}, w->name() == "ones" ? one : 0);
      graph->set_weight_data(w.get(), t);
    }
    return graph;
  };
  const auto original = filled(1), graph = filled(1), other = filled(1.5);
  fuse(*graph);
  expect_equal_results(*original, *graph);
  EXPECT_EQ(body_text(*graph), R"(graph g(%x: f32[N,6,4]) {
  %1 = group_norm(%x, groups=3) : f32[N,6,4]
  return %1
}
)");
  fuse(*other);
  EXPECT_NE(body_text(*other).find("@ones"), std::string::npos);
}

// The samples of a batch are not normalised together, and channels of two groups not apart.
TEST(Raise, OtherGroupsThanTheTensorsStay) {
  for (const std::string groups : {"shape=[2*N,3,16]", "shape=[N,12,8]"}) {
    const bool batches = groups == "shape=[2*N,3,16]";
    const std::string type = batches ? "f32[2*N,3,16]" : "f32[N,12,8]";
    const auto original =
        graph_with_data("graph g(%x: f32[N,6,16]) {\n  %1 = reshape(%x, " + groups + ") : " + type +
                        "\n  %2 = group_norm(%1, groups=" + (batches ? "3" : "12") + ") : " + type +
                        "\n  %3 = reshape(%2, shape=[N,6,16]) : f32[N,6,16]\n  return %3\n}\n");
    const auto graph = clone(*original);
    fuse(*graph);
    EXPECT_NE(body_text(*graph).find("reshape"), std::string::npos);
    expect_equal_results(*original, *graph);
  }
}

TEST(Raise, RowsByIndexAreOneSum) {
  expect_same({R"(graph g(%x: f32[N,6], %i: i64[2], %s: f32[2,6]) {
  %1 = index_add(%x, %i, %s) : f32[N,6]
  return %1
}
)",
               R"(graph g(%x: f32[N,6], %i: i64[2], %s: f32[2,6]) {
  %1 = index_put(%x, %s, %i, axes=0, accumulate=true) : f32[N,6]
  return %1
}
)",
               R"(graph g(%x: f32[N,6], %i: i64[2], %s: f32[2,6]) {
  %1 = reshape(%i, shape=[2,1]) : i64[2,1]
  %2 = expand(%1, shape=[2,6]) : i64[2,6]
  %3 = scatter(%x, %2, %s, reduce="sum") : f32[N,6]
  return %3
}
)"});
}

TEST(Raise, MergedRowsAreSplitAgain) {
  expect_same({R"(graph g(%x: f32[N,3,2,4]) {
  @w : f32[5,8]
  %1 = reshape(%x, shape=[N,3,8]) : f32[N,3,8]
  %2 = linear(%1, @w) : f32[N,3,5]
  return %2
}
)",
               R"(graph g(%x: f32[N,3,2,4]) {
  @w : f32[5,8]
  %1 = reshape(%x, shape=[3*N,8]) : f32[3*N,8]
  %2 = linear(%1, @w) : f32[3*N,5]
  %3 = reshape(%2, shape=[N,3,5]) : f32[N,3,5]
  return %3
}
)"});
}

TEST(Raise, ZerosAroundAMapAreThePaddingOfItsConvolution) {
  expect_same({R"(graph g(%x: f32[N,2,5,6]) {
  @w : f32[4,2,3,3]
  @b : f32[4]
  %1 = conv(%x, @w, @b, stride=2, pad=[1,2,2,4]) : f32[N,4,3,5]
  return %1
}
)",
               R"(graph g(%x: f32[N,2,5,6]) {
  @w : f32[4,2,3,3]
  @b : f32[4]
  %1 = pad(%x, pads=[0,0,0,1,0,0,1,3]) : f32[N,2,6,10]
  %2 = conv(%1, @w, @b, stride=2, pad=1) : f32[N,4,3,5]
  return %2
}
)"});
  expect_same({R"(graph g(%x: f32[N,2,7]) {
  @w : f32[4,1,3]
  %1 = conv(%x, @w, pad=2, groups=2) : f32[N,4,9]
  return %1
}
)",
               R"(graph g(%x: f32[N,2,7]) {
  @w : f32[4,1,3]
  %1 = pad(%x, pads=[0,0,2,0,0,2]) : f32[N,2,11]
  %2 = conv(%1, @w, groups=2) : f32[N,4,9]
  return %2
}
)"});
}

// Other numbers than 0, other axes, what is cut off, and a padded map that something else reads.
TEST(Raise, OtherPaddingStaysAsItIs) {
  for (const std::string pad :
       {"pads=[0,0,1,0,0,1], value=1.0", "pads=[0,0,1,0,0,1], mode=\"reflect\"", "pads=[0,0,-1,0,0,3]"}) {
    const std::string text = "graph g(%x: f32[N,2,6]) {\n  @w : f32[4,2,3]\n  %1 = pad(%x, " + pad +
                             ") : f32[N,2,8]\n  %2 = conv(%1, @w) : f32[N,4,6]\n  return %2\n}\n";
    const auto graph = graph_with_data(text);
    fuse(*graph);
    EXPECT_NE(body_text(*graph).find("= pad("), std::string::npos) << body_text(*graph);
  }
  const std::string both = R"(graph g(%x: f32[N,2,6]) {
  @w : f32[4,2,3]
  %1 = pad(%x, pads=[0,0,1,0,0,1]) : f32[N,2,8]
  %2 = conv(%1, @w) : f32[N,4,6]
  return %1, %2
}
)";
  const auto graph = graph_with_data(both);
  fuse(*graph);
  EXPECT_NE(body_text(*graph).find("= pad("), std::string::npos);
}

TEST(Raise, BitsOfBoolsAreTruthValues) {
  expect_same({R"(graph g(%x: bool[N,4], %y: bool[4]) {
  %1 = logical_and(%x, %y) : bool[N,4]
  %2 = logical_or(%1, %y) : bool[N,4]
  %3 = logical_xor(%2, %x) : bool[N,4]
  return %3
}
)",
               R"(graph g(%x: bool[N,4], %y: bool[4]) {
  %1 = bit_and(%x, %y) : bool[N,4]
  %2 = bit_or(%1, %y) : bool[N,4]
  %3 = bit_xor(%2, %x) : bool[N,4]
  return %3
}
)"});
}

/// The weights by name, each with these elements.
std::string fused_with(const std::string& text, const std::map<std::string, std::vector<double>>& elements) {
  const auto original = graph_with_data(text);
  for (const auto& w : original->weights()) {
    Tensor t = Tensor::empty(w->dtype(), *known_sizes(w->shape()));
    std::size_t next = 0;
    for_each_index(t.shape(), [&](std::span<const std::int64_t> at) {
      t.set_double(at, elements.at(w->name())[next++]);
    });
    original->set_weight_data(w.get(), t);
  }
  const auto graph = clone(*original);
  fuse(*graph);
  expect_equal_results(*original, *graph);
  return body_text(*graph);
}

TEST(Raise, AConditionThatIsTrueEverywhereIsNone) {
  const std::string text = R"(graph g(%x: bool[N,2], %y: f32[N,2]) {
  @c : bool[2]
  %1 = logical_and(@c, %x) : bool[N,2]
  %2 = where(@c, %y, 0.0:f32) : f32[N,2]
  %3 = where(%1, %2, 1.0:f32) : f32[N,2]
  return %3
}
)";
  EXPECT_EQ(fused_with(text, {{"c", {1, 1}}}), R"(graph g(%x: bool[N,2], %y: f32[N,2]) {
  %1 = where(%x, %y, 1.0:f32) : f32[N,2]
  return %1
}
)");
  EXPECT_NE(fused_with(text, {{"c", {1, 0}}}).find("logical_and"), std::string::npos);
}

TEST(Raise, IndicesOfEveryPlaceInOrderAreNone) {
  const std::string text = R"(graph g(%x: f32[2,3]) {
  @rows : i64[2,1,1]
  @columns : i64[1,3]
  %1 = index(%x, @rows, @columns, axes=[0,1]) : f32[2,1,3]
  return %1
}
)";
  EXPECT_EQ(fused_with(text, {{"rows", {0, 1}}, {"columns", {0, -2, 2}}}), R"(graph g(%x: f32[2,3]) {
  %1 = reshape(%x, shape=[2,1,3]) : f32[2,1,3]
  return %1
}
)");
  EXPECT_NE(fused_with(text, {{"rows", {1, 0}}, {"columns", {0, 1, 2}}}).find("index("), std::string::npos);
  EXPECT_NE(fused_with(text, {{"rows", {0, 1}}, {"columns", {0, 1, 1}}}).find("index("), std::string::npos);
}

// [0,3] lies outside, though a row of three has its next element there.
TEST(Raise, IndicesBeyondAnAxisStay) {
  const auto graph = graph_with_data(R"(graph g(%x: f32[2,3]) {
  @rows : i64[6]
  @columns : i64[6]
  %1 = index(%x, @rows, @columns, axes=[0,1]) : f32[6]
  return %1
}
)");
  for (const auto& w : graph->weights()) {
    Tensor t = Tensor::empty(DType::i64, {6});
    for (std::int64_t i = 0; i < 6; ++i) t.set_int({{i}}, w->name() == "rows" ? 0 : i);
    graph->set_weight_data(w.get(), t);
  }
  fuse(*graph);
  EXPECT_NE(body_text(*graph).find("index("), std::string::npos);
}

TEST(Raise, ASelectionOfEveryPlaceInOrderIsNone) {
  const std::string text = R"(graph g(%x: f32[N,4]) {
  @i : i64[2,2]
  %1 = index_select(%x, @i, axis=1) : f32[N,2,2]
  return %1
}
)";
  EXPECT_EQ(fused_with(text, {{"i", {0, 1, 2, 3}}}), R"(graph g(%x: f32[N,4]) {
  %1 = reshape(%x, shape=[N,2,2]) : f32[N,2,2]
  return %1
}
)");
  EXPECT_NE(fused_with(text, {{"i", {0, 1, 3, 2}}}).find("index_select("), std::string::npos);
}

// Whether a row that sees nothing is NaN is no question where the lowest number hides keys, one where minus
// infinity does.
TEST(Raise, HiddenByTheLowestNumberIsNotNaN) {
  const auto attention = [](const std::string& hidden) {
    const auto graph = graph_with_data(R"(graph g(%q: f32[N,2,3,4], %see: bool[N,1,3,3]) {
  %1 = where(%see, 0.5:f32, )" + hidden +
                                       R"(:f32) : f32[N,1,3,3]
  %2 = attention(%q, %q, %q, %1, nan_rows=true) : f32[N,2,3,4]
  return %2
}
)");
    fuse(*graph);
    return body_text(*graph);
  };
  EXPECT_EQ(attention("-1e30").find("nan_rows"), std::string::npos);
  EXPECT_NE(attention("-inf").find("nan_rows"), std::string::npos);
}

// A mean over a map is its pool; one over other axes stays.
TEST(Raise, MeansOfMapsAreTheirPools) {
  expect_same({R"(graph g(%x: f32[N,2,3,4]) {
  %1 = adaptive_avg_pool(%x, output=[1,1]) : f32[N,2,1,1]
  %2 = reshape(%1, shape=[N,2]) : f32[N,2]
  return %2
}
)",
               R"(graph g(%x: f32[N,2,3,4]) {
  %1 = mean(%x, axes=[2,3]) : f32[N,2]
  return %1
}
)"});
}

}  // namespace
}  // namespace tenon::testing
