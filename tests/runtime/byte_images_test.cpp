// Images of quantised models stay bytes from one operator to the next, and are the numbers that they were.
#include "runtime/byte_images.h"

#include "kernels/cpu/byte_conv.h"
#include "tests/runtime/codes.h"

namespace tenon::testing {
namespace {

class ByteImages : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::runs_dot_of_bytes()) GTEST_SKIP() << "this CPU has no dot product of bytes";
  }

  // Runs it, compares with the reference, and returns the types of what the plan computes beside weights.
  static std::string types_of(const std::string& text, std::string* kernels = nullptr) {
    const auto graph = graph_of_codes(text);
    Session session(graph);
    std::string types;
    for (const std::int64_t N : {1, 3}) {
      const auto inputs = inputs_of(*graph, {{"N", N}});
      const auto plan = session.plan_for(inputs);
      types.clear();
      if (kernels) kernels->clear();
      for (const auto& node : plan->graph->body().nodes())
        if (node->output()->shape()[0] == Dim(N)) types += std::string(name(node->output()->dtype())) + " ";
      if (kernels)
        for (const auto& kernel : kernels_of(*plan)) *kernels += kernel + ", ";
      expect_close(session.run(inputs)[0], evaluate(*graph, inputs)[0]);
    }
    return types;
  }
};

// Scales are powers of two, so all sums are exact.
constexpr const char* codes =
    "round; add(_, 100.0); clamp(_, min=0.0, max=255.0); cast(_, to=u8); cast; sub(_, 100.0)";

TEST_F(ByteImages, PassMaximaConcatenationsAndDepthwiseAndTransposedConvolutions) {
  std::string kernels;
  const std::string types = types_of(fmt::format(R"(graph g(%x: f32[N,8,10,6]) {{
  @w : i8[32,8,3,3]
  @d : i8[32,1,3,3]
  @t : i8[32,32,2,2]
  @u : i8[16,64,3,3]
  %1 = fused {{ div(%x, 0.03125); {0}; mul(_, 0.03125) }} : f32[N,8,10,6]
  %2 = fused {{ cast(@w); mul(_, 0.03125) }} : f32[32,8,3,3]
  %3 = fused conv(%1, %2, pad=1) {{ div(_, 0.5); {0}; mul(_, 0.5) }} : f32[N,32,10,6]
  %4 = max_pool(%3, kernel=[2,2], stride=[2,2], pad=[0,0], dilation=[1,1]) : f32[N,32,5,3]
  %5 = fused {{ div(%4, 0.5); {0}; mul(_, 0.5) }} : f32[N,32,5,3]
  %6 = fused {{ cast(@d); mul(_, 0.03125) }} : f32[32,1,3,3]
  %7 = fused conv(%5, %6, pad=1, groups=32) {{ relu; div(_, 1.0); {0}; mul(_, 1.0) }} : f32[N,32,5,3]
  %8 = fused {{ cast(@t); mul(_, 0.03125) }} : f32[32,32,2,2]
  %9 = fused conv_transpose(%7, %8, stride=2) {{ div(_, 4.0); {0}; mul(_, 4.0) }} : f32[N,32,10,6]
  %10 = concat(%9, %3, axis=1) : f32[N,64,10,6]
  %11 = fused {{ div(%10, 2.0); {0}; mul(_, 2.0) }} : f32[N,64,10,6]
  %12 = fused {{ cast(@u); mul(_, 0.03125) }} : f32[16,64,3,3]
  %13 = conv(%11, %12, pad=1) : f32[N,16,10,6]
  return %13
}})",
                                                 codes),
                                     &kernels);
  EXPECT_EQ(types, "u8 u8 u8 u8 u8 u8 u8 f32 ") << kernels;
}

// What follows the codes of a sum is a function of 256 numbers.
TEST_F(ByteImages, AreCodesOfCodesByTable) {
  std::string kernels;
  types_of(fmt::format(R"(graph g(%x: f32[N,8,5,6]) {{
  @w : i8[24,8,1,1]
  @u : i8[24,24,1,1]
  %1 = fused {{ div(%x, 0.03125); {0}; mul(_, 0.03125) }} : f32[N,8,5,6]
  %2 = fused {{ cast(@w); mul(_, 0.03125) }} : f32[24,8,1,1]
  %3 = fused conv(%1, %2) {{ div(_, 0.25); {0}; %3.9 = mul(_, 0.25); sigmoid(%3.9); mul(_, 255.0); round; clamp(_, min=0.0, max=255.0); cast(_, to=u8); cast; mul(_, 0.0039); mul(%3.9, _); div(_, 0.25); {0}; mul(_, 0.25) }} : f32[N,24,5,6]
  %4 = fused {{ cast(@u); mul(_, 0.03125) }} : f32[24,24,1,1]
  %5 = conv(%3, %4) : f32[N,24,5,6]
  return %5
}})",
                       codes),
           &kernels);
  EXPECT_NE(kernels.find("byte+table, "), std::string::npos) << kernels;
}

// A bias and a residual of float32 lie between codes, and functions of them behind: the layers of
// transformers.
TEST_F(ByteImages, BehindLinearsAreAddedTwiceOrLookedUp) {
  const auto kernels_behind = [](const char* steps) {
    std::string kernels;
    types_of(fmt::format(R"(graph g(%x: f32[N,64], %r: f32[N,48]) {{
  @w : i8[64,48]
  @b : f32[48]
  %1 = fused {{ div(%x, 0.03125); {0}; mul(_, 0.03125) }} : f32[N,64]
  %2 = fused {{ cast(@w); mul(_, 0.03125) }} : f32[64,48]
  %3 = fused matmul(%1, %2) {{ div(_, 0.5); {0}; mul(_, 0.5); add(_, @b); div(_, 0.25); {0}; {1} }} : f32[N,48]
  return %3
}})",
                         codes, fmt::format(fmt::runtime(steps), codes)),
             &kernels);
    return kernels;
  };
  EXPECT_NE(kernels_behind("mul(_, 0.25)").find("byte gemm+bias+codes, "), std::string::npos);
  EXPECT_NE(kernels_behind("mul(_, 0.25); add(_, %r); div(_, 0.5); {0}; mul(_, 0.5)")
                .find("byte gemm+bias+residual+codes, "),
            std::string::npos);
  EXPECT_NE(
      kernels_behind("%3.18 = mul(_, 0.25); sigmoid(%3.18); mul(%3.18, _); div(_, 0.25); {0}; mul(_, 0.25)")
          .find("byte gemm+bias+table, "),
      std::string::npos);
}

// Pictures are read plane by plane.
TEST_F(ByteImages, OfFewChannelsAreReadAsTheyLie) {
  std::string kernels;
  types_of(fmt::format(R"(graph g(%x: f32[N,3,9,14]) {{
  @w : i8[20,3,3,3]
  %1 = fused {{ div(%x, 0.03125); {0}; mul(_, 0.03125) }} : f32[N,3,9,14]
  %2 = fused {{ cast(@w); mul(_, 0.03125) }} : f32[20,3,3,3]
  %3 = fused conv(%1, %2, pad=1, stride=2) {{ div(_, 0.5); {0}; mul(_, 0.5) }} : f32[N,20,5,7]
  return %3
}})",
                       codes),
           &kernels);
  EXPECT_TRUE(kernels.starts_with("loop, byte+codes, ")) << kernels;
}

// Heads have one channel: a result's rows are then as far apart as its columns.
TEST_F(ByteImages, OfOneChannel) {
  for (const char* behind :
       {"sigmoid", "sigmoid; div(_, 0.25); {0}; mul(_, 0.25)", "exp; div(_, 0.5); {0}; mul(_, 0.5)"})
    types_of(fmt::format(R"(graph g(%x: f32[N,8,5,6]) {{
  @w : i8[1,8,3,3]
  %1 = fused {{ div(%x, 0.03125); {0}; mul(_, 0.03125) }} : f32[N,8,5,6]
  %2 = fused {{ cast(@w); mul(_, 0.0009765625) }} : f32[1,8,3,3]
  %3 = fused conv(%1, %2, pad=1) {{ {1} }} : f32[N,1,5,6]
  return %3
}})",
                         codes, fmt::format(fmt::runtime(behind), codes)));
}

TEST_F(ByteImages, AreJoinedWithThemselves) {
  types_of(fmt::format(R"(graph g(%x: f32[N,8,5,6]) {{
  @w : i8[4,16,1,1]
  %1 = fused {{ div(%x, 0.03125); {0}; mul(_, 0.03125) }} : f32[N,8,5,6]
  %2 = concat(%1, %1, axis=1) : f32[N,16,5,6]
  %3 = fused {{ div(%2, 0.03125); {0}; mul(_, 0.03125) }} : f32[N,16,5,6]
  %4 = fused {{ cast(@w); mul(_, 0.03125) }} : f32[4,16,1,1]
  %5 = conv(%3, %4) : f32[N,4,5,6]
  return %5
}})",
                       codes));
}

// The largest of no numbers is no byte.
TEST_F(ByteImages, OfWindowsBesideTheImageAreNumbers) {
  types_of(fmt::format(R"(graph g(%x: f32[N,8,4,2]) {{
  %1 = fused {{ div(%x, 0.03125); {0}; mul(_, 0.03125) }} : f32[N,8,4,2]
  %2 = max_pool(%1, kernel=[2,2], stride=[1,1], pad=[1,1], dilation=[1,3]) : f32[N,8,5,1]
  %3 = fused {{ div(%2, 0.03125); {0}; mul(_, 0.03125) }} : f32[N,8,5,1]
  return %3
}})",
                       codes));
}

// The largest byte stands for the least number.
TEST_F(ByteImages, OfAScaleBelowZeroAreNumbersToMaxima) {
  types_of(fmt::format(R"(graph g(%x: f32[N,8,4,6]) {{
  @w : i8[4,8,1,1]
  %1 = fused {{ div(%x, -0.03125); {0}; mul(_, -0.03125) }} : f32[N,8,4,6]
  %2 = max_pool(%1, kernel=[2,2], stride=[2,2], pad=[0,0], dilation=[1,1]) : f32[N,8,2,3]
  %3 = fused {{ cast(@w); mul(_, 0.03125) }} : f32[4,8,1,1]
  %4 = conv(%2, %3) : f32[N,4,2,3]
  return %4
}})",
                       codes));
}

}  // namespace
}  // namespace tenon::testing
