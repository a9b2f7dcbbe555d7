// How much arithmetic each operator is.
#include "ir/flops.h"

#include <gtest/gtest.h>

#include "ir/parse.h"

namespace tenon {
namespace {

double flops_of(const std::string& node, const std::string& arguments) {
  const auto graph = parse("graph g(" + arguments + ") {\n  %1 = " + node + "\n  return %1\n}\n");
  return flops(*graph->body().nodes().front());
}

TEST(Flops, AMultiplyAddCountsTwo) {
  EXPECT_EQ(flops_of("matmul(%a, %b) : f32[7,2,5]", "%a: f32[7,2,3], %b: f32[3,5]"), 2 * 7 * 2 * 3 * 5);
  EXPECT_EQ(flops_of("linear(%x, %w) : f32[4,5]", "%x: f32[4,3], %w: f32[5,3]"), 2 * 4 * 3 * 5);
}

TEST(Flops, ABiasCountsOneForEachResult) {
  EXPECT_EQ(flops_of("linear(%x, %w, %b) : f32[4,5]", "%x: f32[4,3], %w: f32[5,3], %b: f32[5]"),
            2 * 4 * 3 * 5 + 4 * 5);
}

TEST(Flops, AConvolutionMeetsTheTapsOfItsGroup) {
  EXPECT_EQ(flops_of("conv(%x, %w, pad=1, groups=2) : f32[1,6,8,8]", "%x: f32[1,4,8,8], %w: f32[6,2,3,3]"),
            2 * (6 * 8 * 8) * (2 * 3 * 3));
  EXPECT_EQ(
      flops_of("conv_transpose(%x, %w, stride=2) : f32[1,6,16,16]", "%x: f32[1,4,8,8], %w: f32[4,6,2,2]"),
      2 * (4 * 8 * 8) * (6 * 2 * 2));
}

TEST(Flops, PoolingCountsTheElementsOfItsWindows) {
  EXPECT_EQ(flops_of("max_pool(%x, kernel=3, stride=2, pad=1) : f32[1,2,4,4]", "%x: f32[1,2,8,8]"),
            2 * 4 * 4 * 9);
}

TEST(Flops, ASpectrumIsCubicInTheShorterSide) {
  EXPECT_EQ(flops_of("matrix_exp(%x) : f32[2,8,8]", "%x: f32[2,8,8]"),
            8 * flops_of("matrix_exp(%x) : f32[2,4,4]", "%x: f32[2,4,4]"));
  const auto svd = parse("graph g(%x: f32[3,10]) {\n  %1, %2, %3 = svd(%x)\n  return %2\n}\n");
  const auto turned = parse("graph g(%x: f32[10,3]) {\n  %1, %2, %3 = svd(%x)\n  return %2\n}\n");
  EXPECT_EQ(flops(*svd->body().nodes().front()), flops(*turned->body().nodes().front()));
  EXPECT_GT(flops(*svd->body().nodes().front()), 3 * 3 * 10);
}

TEST(Flops, AReductionCountsWhatItReads) {
  EXPECT_EQ(flops_of("sum(%x, axes=[1]) : f32[4]", "%x: f32[4,5]"), 20);
}

TEST(Flops, APointwiseOperatorCountsItsPrimitives) {
  EXPECT_EQ(flops_of("add(%x, %x) : f32[4,5]", "%x: f32[4,5]"), 20);
  EXPECT_EQ(flops_of("add(%x, %y) : f32[4,5]", "%x: f32[4,1], %y: f32[5]"), 20) << "of the broadcast result";
}

TEST(Flops, MovingAndConvertingIsNone) {
  EXPECT_EQ(flops_of("permute(%x, axes=[1,0]) : f32[5,4]", "%x: f32[4,5]"), 0);
  EXPECT_EQ(flops_of("concat(%x, %x, axis=0) : f32[8,5]", "%x: f32[4,5]"), 0);
  EXPECT_EQ(flops_of("cast(%x, to=f16) : f16[4,5]", "%x: f32[4,5]"), 0);
}

TEST(Flops, ACompositeIsTheSumOfItsParts) {
  const double products = 2.0 * 2 * 3 * 6 * 4 * 2;  // q k^T and its product with v
  const double all =
      flops_of("attention(%q, %k, %v) : f32[2,3,4]", "%q: f32[2,3,4], %k: f32[2,6,4], %v: f32[2,6,4]");
  EXPECT_GT(all, products);
  EXPECT_LT(all, products + 10 * 2 * 3 * 6) << "and of the softmax between them";
}

TEST(Flops, AFusedNodeIsTheSumOfItsMembers) {
  EXPECT_EQ(flops_of("fused linear(%x, %w) { relu } : f32[4,5]", "%x: f32[4,3], %w: f32[5,3]"),
            2 * 4 * 3 * 5 + flops_of("relu(%x) : f32[4,5]", "%x: f32[4,5]"));
}

}  // namespace
}  // namespace tenon
