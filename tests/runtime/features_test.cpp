// What a cost model sees of a plan's steps.
#include "runtime/cost/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/runtime/codes.h"

namespace tenon::testing {
namespace {

std::vector<StepFeatures> features(std::string_view text) {
  const auto graph = graph_of(text);
  return features_of(*Session(graph).plan_for(inputs_of(*graph, {})));
}

const StepFeatures& only(const std::vector<StepFeatures>& steps, std::string_view kernel) {
  const StepFeatures* found = nullptr;
  for (const StepFeatures& s : steps)
    if (s.kernel == kernel) found = &s;
  if (!found) throw std::runtime_error(fmt::format("no step of {}", kernel));
  return *found;
}

std::string conv(int channels, std::string_view attributes) {
  return fmt::format(R"(graph g(%x: f32[1,{0},60,60]) {{
  @w: f32[{0},{0},3,3]
  %1 = fused {{ conv(%x, @w, {1}); relu }} : f32[1,{0},60,60]
  return %1
}})",
                     channels, attributes);
}

TEST(Features, AConvolutionIsAMatrixProductWithAWindow) {
  const auto steps = features(conv(64, "pad=1"));
  const StepFeatures& s = only(steps, "winograd6");
  EXPECT_EQ(s.extents, (std::vector<std::int64_t>{1, 3600, 64, 576}));
  EXPECT_EQ(s.numbers.taps, 9);
  EXPECT_EQ(s.numbers.stride, 1);
  EXPECT_EQ(s.numbers.flops, 2.0 * 3600 * 64 * 576 + 3600 * 64);
  EXPECT_EQ(s.numbers.out_bytes, 4 * 3600 * 64);
  EXPECT_GE(s.numbers.weight_bytes, 4 * 64 * 64 * 9);
  EXPECT_EQ(s.candidates.size(), 4u);  // those that were not chosen, too
  EXPECT_EQ(s.candidates[s.taken].kernel, "winograd6+relu");
}

TEST(Features, AKeyIsOfTheWorkAlone) {
  const auto key = [](const std::string& text) { return only(features(text), "winograd6").key; };
  const std::string one = key(conv(64, "pad=1"));
  EXPECT_EQ(one.size(), 16u);
  EXPECT_EQ(one, key(conv(64, "pad=1")));
  EXPECT_NE(one, key(conv(48, "pad=1")));
  EXPECT_NE(
      only(features("graph g(%x: f32[8,8]) {\n %1 = leaky_relu(%x, slope=0.2) : f32[8,8]\n return %1\n}"),
           "loop")
          .key,
      only(features("graph g(%x: f32[8,8]) {\n %1 = leaky_relu(%x, slope=0.3) : f32[8,8]\n return %1\n}"),
           "loop")
          .key);
}

TEST(Features, ACopyHasTwoSides) {
  const auto steps = features(R"(graph g(%x: f32[32,48]) {
  %1 = permute(%x, axes=[1,0]) : f32[48,32]
  return %1
})");
  const StepFeatures& s = only(steps, "copy");
  ASSERT_EQ(s.reads.size(), 1u);
  EXPECT_EQ(s.reads[0].layout.strides(), (Index{1, 48}));
  EXPECT_EQ(s.reads[0].from, Buffer::Kind::input);
  EXPECT_EQ(s.writes[0].layout.strides(), (Index{32, 1}));
  EXPECT_EQ(s.writes[0].from, Buffer::Kind::output);
  EXPECT_EQ(s.numbers.in_stride, 48);
  EXPECT_EQ(s.numbers.turned, 1);
  EXPECT_TRUE(s.candidates.empty());
}

TEST(Features, ALoopsBodyIsCountedByPrimitive) {
  const auto steps = features(R"(graph g(%x: f32[32,48], %y: f32[48]) {
  %1 = fused softmax(%x, axis=1) { mul(_, %y) } : f32[32,48]
  return %1
})");
  const StepFeatures& s = only(steps, "row loop");
  EXPECT_EQ(s.numbers.exponentials, 1);
  EXPECT_EQ(s.numbers.folds, 2);  // the maximum and the sum
  EXPECT_EQ(s.numbers.reduced, 48);
  EXPECT_EQ(s.numbers.reduced_inner, 2);
  EXPECT_EQ(s.reduced_axes, (std::vector<std::int64_t>{1}));
}

TEST(Features, OfATableIndicesReadWhatTheyChoose) {
  const auto steps = features(R"(graph g(%i: i64[4]) {
  @table : f32[10000,64]
  %1 = index_select(@table, %i) : f32[4,64]
  return %1
})");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_LE(steps[0].numbers.bytes, 4 * 8 + 2 * 4 * 64 * 4);
  EXPECT_LE(steps[0].numbers.weight_bytes, 4 * 64 * 4);
}

TEST(Features, TheDistanceIsWhatWasMovedSinceAnOperandWasMade) {
  const auto steps = features(R"(graph g(%x: f32[64,64], %y: f32[8]) {
  %1 = matmul(%x, %x) : f32[64,64]
  %2 = neg(%y) : f32[8]
  %3 = matmul(%1, %1) : f32[64,64]
  return %2, %3
})");
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].numbers.distance, 0);
  EXPECT_EQ(steps[2].numbers.distance, steps[0].numbers.bytes + steps[1].numbers.bytes);
  double all = 0;
  for (const StepFeatures& s : steps) all += s.numbers.bytes;
  EXPECT_EQ(steps[1].numbers.model_bytes, all);
}

TEST(Features, StepsWithPlansOfTheirOwnHaveTheirWork) {
  const auto graph = graph_of(R"(graph g(%x: f32[64,64], %m: bool[64]) {
  %1 = nonzero(%m, count=?0) : i64[?0,1]
  %2 = matmul(%x, %x) : f32[64,64]
  return %1, %2
})");
  const auto plan = Session(graph).plan_with_stages(inputs_of(*graph, {}));
  double flops = 0;
  for (const StepFeatures& s : features_of(*plan)) flops += s.numbers.flops;
  EXPECT_EQ(flops, 2.0 * 64 * 64 * 64);
}

// Of the step with the most operations.
ArithmeticKind arithmetic(std::string_view text) {
  const auto graph = graph_of_codes(text);
  const auto steps = features_of(*Session(graph).plan_for(inputs_of(*graph, {})));
  return std::ranges::max_element(steps, {}, [](const StepFeatures& s) { return s.numbers.flops; })
      ->arithmetic;
}

TEST(Features, ArithmeticIsThatOfTheNumbersThatAreMultiplied) {
  for (const auto& [dtype, kind] : {std::pair{DType::f32, ArithmeticKind::f32},
                                    {DType::f64, ArithmeticKind::f64},
                                    {DType::bf16, ArithmeticKind::bf16},
                                    {DType::i32, ArithmeticKind::lanes}}) {
    const std::string by_weight = fmt::format(R"(graph g(%x: {0}[8,160]) {{
  @w : {0}[200,160]
  %1 = linear(%x, @w) : {0}[8,200]
  return %1
}})",
                                              name(dtype));
    const std::string of_two = fmt::format(R"(graph g(%x: {0}[2,8,160], %y: {0}[2,160,200]) {{
  %1 = matmul(%x, %y) : {0}[2,8,200]
  return %1
}})",
                                           name(dtype));
    EXPECT_EQ(arithmetic(by_weight), kind) << name(dtype);
    EXPECT_EQ(arithmetic(of_two), kind) << name(dtype);
  }
}

TEST(Features, LoopsAndDepthwiseConvolutionsComputeOnLanes) {
  for (const auto& [dtype, kind] : {std::pair{DType::f32, ArithmeticKind::lanes},
                                    {DType::bf16, ArithmeticKind::lanes},
                                    {DType::f64, ArithmeticKind::f64}})
    EXPECT_EQ(arithmetic(fmt::format("graph g(%x: {0}[64,64]) {{\n %1 = exp(%x) : {0}[64,64]\n return %1\n}}",
                                     name(dtype))),
              kind)
        << name(dtype);
  EXPECT_EQ(arithmetic(conv(64, "pad=1")), ArithmeticKind::f32);
  EXPECT_EQ(arithmetic(R"(graph g(%x: f32[1,64,60,60]) {
  @w: f32[64,1,3,3]
  %1 = conv(%x, @w, pad=1, groups=64) : f32[1,64,60,60]
  return %1
})"),
            ArithmeticKind::lanes);
}

TEST(Features, ArithmeticOfCodesIsThatOfWhatTheyAreMultipliedBy) {
  EXPECT_EQ(arithmetic(R"(graph g(%x: f32[9,160]) {
  @w : i8[200,160]
  %1 = cast(@w) : f32[200,160]
  %2 = mul(%1, 0.01) : f32[200,160]
  %3 = linear(%x, %2) : f32[9,200]
  return %3
})"),
            ArithmeticKind::f32);
  EXPECT_EQ(arithmetic(R"(graph g(%x: i32[9,160]) {
  @w : u8[160,200]
  %1 = cast(@w, to=i32) : i32[160,200]
  %2 = matmul(%x, %1) : i32[9,200]
  return %2
})"),
            ArithmeticKind::i8);
  EXPECT_EQ(arithmetic(R"(graph g(%x: f32[40,160]) {
  @w : i8[160,200]
  %1 = fused { round(%x); clamp(_, min=-128.0, max=127.0); cast(_, to=i8); cast; mul(_, 0.04) } : f32[40,160]
  %2 = fused { cast(@w); mul(_, 0.5) } : f32[160,200]
  %3 = matmul(%1, %2) : f32[40,200]
  return %3
})"),
            ArithmeticKind::i8);
}

}  // namespace
}  // namespace tenon::testing
