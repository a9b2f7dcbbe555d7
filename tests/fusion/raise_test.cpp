// Every spelling of an operator becomes the operator.
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

TEST(Raise, AttentionOfGroupedQueries) {
  const std::string parameters =
      "graph g(%q: f32[2,6,5,16], %k: f32[2,3,7,16], %v: f32[2,3,7,16], %m: bool[2,1,5,7]) {\n";
  const std::string repeats = R"(  %1 = reshape(%k, shape=[2,3,1,7,16]) : f32[2,3,1,7,16]
  %2 = expand(%1, shape=[2,3,2,7,16]) : f32[2,3,2,7,16]
  %3 = reshape(%2, shape=[2,6,7,16]) : f32[2,6,7,16]
  %4 = reshape(%v, shape=[2,3,1,7,16]) : f32[2,3,1,7,16]
  %5 = expand(%4, shape=[2,3,2,7,16]) : f32[2,3,2,7,16]
  %6 = reshape(%5, shape=[2,6,7,16]) : f32[2,6,7,16]
)";
  expect_fused(parameters + repeats + R"(  %7 = attention(%q, %3, %6, %m, scale=0.5) : f32[2,6,5,16]
  return %7
}
)",
               parameters + R"(  %1 = attention(%q, %k, %v, %m, scale=0.5) : f32[2,6,5,16]
  return %1
}
)");
  expect_same({parameters + R"(  %1 = attention(%q, %k, %v) : f32[2,6,5,16]
  return %1
}
)",
               parameters + repeats + R"(  %7 = permute(%3, axes=[0,1,3,2]) : f32[2,6,16,7]
  %8 = matmul(%q, %7) : f32[2,6,5,7]
  %9 = mul(%8, 0.25) : f32[2,6,5,7]
  %10 = softmax(%9, axis=3) : f32[2,6,5,7]
  %11 = matmul(%10, %6) : f32[2,6,5,16]
  return %11
}
)"});
}

TEST(Raise, HeadsThatTileAreNotGrouped) {
  // The repetition comes before the heads: 0 1 2 0 1 2.
  const std::string tiled = R"(graph g(%q: f32[2,6,5,16], %k: f32[2,3,7,16]) {
  %1 = reshape(%k, shape=[2,1,3,7,16]) : f32[2,1,3,7,16]
  %2 = expand(%1, shape=[2,2,3,7,16]) : f32[2,2,3,7,16]
  %3 = reshape(%2, shape=[2,6,7,16]) : f32[2,6,7,16]
  %4 = attention(%q, %3, %3) : f32[2,6,5,16]
  return %4
}
)";
  expect_fused(tiled, tiled);
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

TEST(Raise, RowsByIndexAreOneSum) {
  expect_same({R"(graph g(%x: f32[N,6], %i: i64[2], %s: f32[2,6]) {
  %1 = index_add(%x, %i, %s) : f32[N,6]
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

// What the indices do not cover stays as it is, and of the source only what they cover is read.
TEST(Raise, AScatterWritesToThePartThatItCovers) {
  expect_same({R"(graph g(%x: f32[N,5,6], %i: i64[N,3,4], %s: f32[N,4,7]) {
  %1 = slice(%s, axis=1, start=0, end=3) : f32[N,3,7]
  %2 = slice(%1, axis=2, start=0, end=4) : f32[N,3,4]
  %3 = slice(%x, axis=2, start=0, end=4) : f32[N,5,4]
  %4 = scatter(%3, %i, %2, axis=1) : f32[N,5,4]
  %5 = slice(%x, axis=2, start=4, end=6) : f32[N,5,2]
  %6 = concat(%4, %5, axis=2) : f32[N,5,6]
  return %6
}
)",
               R"(graph g(%x: f32[N,5,6], %i: i64[N,3,4], %s: f32[N,4,7]) {
  %1 = scatter(%x, %i, %s, axis=1) : f32[N,5,6]
  return %1
}
)"});
}

// PyTorch's index_add refuses negative places, index_put does not.
TEST(Raise, RowsByIndexThatCountFromTheEndAreOneSum) {
  expect_same({R"(graph g(%x: f32[N,6], %i: i64[2], %s: f32[2,6]) {
  %1 = index_add(%x, %i, %s, from_end=true) : f32[N,6]
  return %1
}
)",
               R"(graph g(%x: f32[N,6], %i: i64[2], %s: f32[2,6]) {
  %1 = index_put(%x, %s, %i, axes=0, accumulate=true) : f32[N,6]
  return %1
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

TEST(Canonical, PaddingByNothingGoes) {
  expect_fused(R"(graph g(%x: f32[N,3]) {
  %1 = pad(%x, pads=[0,0,0,0], mode="reflect") : f32[N,3]
  %2 = exp(%1) : f32[N,3]
  return %2
}
)",
               R"(graph g(%x: f32[N,3]) {
  %1 = exp(%x) : f32[N,3]
  return %1
}
)");
}

}  // namespace
}  // namespace tenon::testing
