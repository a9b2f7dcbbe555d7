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
