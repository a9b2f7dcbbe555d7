// Which algorithm a convolution takes, and their names.
#include "kernels/cpu/conv.h"
#include "kernels/cpu/isa.h"
#include "tests/kernels/conv_reference.h"

namespace tenon::cpu {
namespace {

TEST(ConvChoice, TakesNoMoreTapsThanARunLists) {
  const ConvShape s{.Cin = 1, .Cout = 4, .w = {.in = 6000, .kernel = 5000}};
  for (const ConvAlgorithm a : conv_algorithms) EXPECT_FALSE(conv_supports(s, a)) << name(a);
}

TEST(ConvChoice, FollowsTheShape) {
  const auto square = [](long channels, long size, long kernel, long stride) {
    return ConvShape{.Cin = channels,
                     .Cout = channels,
                     .h = axis(size, kernel, stride, kernel / 2),
                     .w = axis(size, kernel, stride, kernel / 2)};
  };
  EXPECT_EQ(choose_conv(square(64, 56, 1, 1)), ConvAlgorithm::gemm);
  EXPECT_EQ(choose_conv(square(64, 56, 3, 2)), ConvAlgorithm::gemm);
  EXPECT_EQ(choose_conv(square(64, 60, 3, 1)), ConvAlgorithm::winograd6);
  EXPECT_EQ(choose_conv(square(512, 7, 3, 1)), ConvAlgorithm::winograd2);
  EXPECT_EQ(choose_conv(square(512, 14, 3, 1)), ConvAlgorithm::winograd4);
  EXPECT_EQ(choose_conv(square(256, 10, 3, 1)), ConvAlgorithm::winograd2);
  EXPECT_EQ(choose_conv(square(3, 60, 3, 1)), ConvAlgorithm::gemm);
  EXPECT_EQ(choose_conv(square(64, 1, 3, 1)), ConvAlgorithm::taps);
  EXPECT_EQ(choose_conv({.N = 4, .Cin = 300, .Cout = 128, .w = axis(500, 8, 1, 4)}),
            ConvAlgorithm::winograd_line);
  EXPECT_EQ(choose_conv({.Cin = 192, .Cout = 192, .h = axis(17, 7, 1, 3), .w = axis(17, 1)}),
            ConvAlgorithm::winograd_line);
  EXPECT_EQ(choose_conv({.Cin = 8, .Cout = 64, .w = axis(500, 8, 1, 4)}), ConvAlgorithm::gemm);
  EXPECT_EQ(choose_conv({.Cin = 64, .Cout = 64, .w = axis(500, 8, 2, 4)}), ConvAlgorithm::winograd_line);
  EXPECT_EQ(choose_conv({.Cin = 64, .Cout = 64, .w = axis(500, 2, 2)}), ConvAlgorithm::gemm);
  ConvShape depthwise = square(32, 56, 3, 1);
  depthwise.groups = 32;
  EXPECT_EQ(choose_conv(depthwise), ConvAlgorithm::depthwise);
  if (isa() == Isa::baseline) return;
  for (const long each : {2, 4, 8}) {
    ConvShape groups = square(32, 56, 3, 1);
    groups.groups = 32 / each;
    EXPECT_EQ(choose_conv(groups), ConvAlgorithm::narrow_groups) << each;
  }
}

TEST(ConvChoice, AlgorithmsHaveNames) {
  EXPECT_EQ(conv_algorithm_from_name(name(ConvAlgorithm::winograd6)), ConvAlgorithm::winograd6);
  EXPECT_EQ(conv_algorithm_from_name("fourier"), std::nullopt);
}

}  // namespace
}  // namespace tenon::cpu
