// Weights become integers of fewer bits where that is asked for, and bytes that hold two numbers stay bytes.
#include <array>
#include <cmath>

#include "ir/evaluate.h"
#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

constexpr const char* two_products = R"(graph mlp(%x: f32[N,64]) {
  @up.weight : f32[96,64]
  @up.bias : f32[96]
  @down : f32[96,64]
  @small : f32[64,8]
  %1 = linear(%x, @up.weight, @up.bias) : f32[N,96]
  %2 = relu(%1) : f32[N,96]
  %3 = matmul(%2, @down) : f32[N,64]
  %4 = matmul(%3, @small) : f32[N,8]
  return %4
}
)";

std::string narrowed(Precision precision, FuseReport* report = nullptr) {
  const auto graph = graph_with_data(two_products);
  const FuseReport found = fuse(*graph, {.precision = precision});
  if (report) *report = found;
  return body_text(*graph);
}

TEST(NarrowWeights, NeverByThemselves) {
  EXPECT_EQ(narrowed(Precision::kept).find("codes"), std::string::npos);
}

TEST(NarrowWeights, Of8BitsHaveAScaleForEachColumn) {
  FuseReport report;
  EXPECT_EQ(narrowed(Precision::int8w, &report), R"(graph mlp(%x: f32[N,64]) {
  %1 = fused { cast(@up.weight.codes); mul(_, @up.weight.scales) } : f32[96,64]
  %2 = fused linear(%x, %1, @up.bias) { relu } : f32[N,96]
  %3 = fused { cast(@down'.codes); mul(_, @down'.scales) } : f32[64,96]
  %4 = linear(%2, %3) : f32[N,64]
  %5 = linear(%4, @small') : f32[N,8]
  return %5
}
)");
  std::vector<std::string> reasons;
  for (const RefusedMatch& r : report.refusals)
    if (r.rule == "narrow_weight") reasons.push_back(r.reason);
  EXPECT_EQ(reasons, std::vector<std::string>{"@small' is small"});
}

TEST(NarrowWeights, Of4BitsAreTwoInAByte) {
  const std::string text = narrowed(Precision::int4w);
  EXPECT_NE(text.find("bit_and"), std::string::npos) << text;
  EXPECT_NE(text.find("concat"), std::string::npos) << text;
}

TEST(NarrowWeights, Of16BitsAreCastWhereTheyAreRead) {
  const auto graph = graph_with_data(R"(graph net(%x: f32[N,16,9,9]) {
  @w : f32[32,16,3,3]
  @up : f32[96,64]
  %1 = conv(%x, @w, pad=0, stride=4) : f32[N,32,2,2]
  %2 = reshape(%1, shape=[2*N,64]) : f32[2*N,64]
  %3 = linear(%2, @up) : f32[2*N,96]
  return %3
}
)");
  const Tensor up = graph->weights()[1]->tensor();
  fuse(*graph, {.precision = Precision::bf16w});
  EXPECT_EQ(body_text(*graph), R"(graph net(%x: f32[N,16,9,9]) {
  %1 = cast(@w.bf16) : f32[32,16,3,3]
  %2 = conv(%x, %1, stride=4) : f32[N,32,2,2]
  %3 = reshape(%2, shape=[2*N,64]) : f32[2*N,64]
  %4 = cast(@up.bf16) : f32[96,64]
  %5 = linear(%3, %4) : f32[2*N,96]
  return %5
}
)");
  for (const auto& weight : graph->weights()) EXPECT_EQ(weight->dtype(), DType::bf16);
}

TEST(NarrowWeights, OfFloat16KeepWhatItCannotHold) {
  const auto graph = graph_with_data(R"(graph net(%x: f32[N,64]) {
  @w : f32[96,64]
  %1 = linear(%x, @w) : f32[N,96]
  return %1
}
)");
  Tensor large = graph->weights()[0]->tensor().contiguous();
  large.set_double(std::array<std::int64_t, 2>{3, 5}, 1e5);
  graph->set_weight_data(graph->weights()[0].get(), large);
  const FuseReport report = fuse(*graph, {.precision = Precision::f16w});
  ASSERT_FALSE(report.refusals.empty());
  EXPECT_EQ(report.refusals.front().reason, "@w has an element that f16 cannot hold");
}

TEST(NarrowWeights, AWeightOfTwoOperatorsIsNarrowedOnce) {
  for (const auto precision : {Precision::bf16w, Precision::int8w}) {
    const auto graph = graph_with_data(R"(graph net(%x: f32[N,64]) {
  @w : f32[64,64]
  %1 = linear(%x, @w) : f32[N,64]
  %2 = relu(%1) : f32[N,64]
  %3 = linear(%2, @w) : f32[N,64]
  return %3
}
)");
    fuse(*graph, {.precision = precision});
    EXPECT_EQ(graph->weights().size(), precision == Precision::bf16w ? 1U : 2U) << body_text(*graph);
  }
}

// No number is off by more than half a step; the one that is farthest from 0 has 8 bits of the largest step,
// or becomes -8.
TEST(NarrowWeights, RoundToTheNearestCode) {
  for (const auto precision : {Precision::int8w, Precision::int4w}) {
    const auto graph = graph_with_data(R"(graph g(%x: f32[64,64]) {
  @w : f32[96,64]
  %1 = linear(%x, @w) : f32[64,96]
  return %1
}
)");
    const Tensor weight = graph->weights().front()->tensor();
    fuse(*graph, {.precision = precision});
    Tensor unit = Tensor::zeros(DType::f32, {64, 64});
    for (std::int64_t i = 0; i < 64; ++i) unit.set_double(std::array{i, i}, 1);
    const Tensor got = evaluate(*graph, std::array{unit})[0];  // [64, 96]
    const std::int64_t group = precision == Precision::int8w ? 64 : 32;
    double worst = 0;
    for (std::int64_t n = 0; n < 96; ++n)
      for (std::int64_t begin = 0; begin < 64; begin += group) {
        double largest = 0;
        for (std::int64_t k = begin; k < begin + group; ++k)
          largest = std::max(largest, std::abs(weight.get_double(std::array{n, k})));
        const double step = largest / (precision == Precision::int8w ? 127 : 8);
        for (std::int64_t k = begin; k < begin + group; ++k) {
          const double error =
              std::abs(got.get_double(std::array{k, n}) - weight.get_double(std::array{n, k})) / step;
          // Of 4 bits, 7 is the largest code: what is near the other end is cut.
          EXPECT_LE(error, precision == Precision::int8w ? 0.501 : 1.001);
          worst = std::max(worst, error);
        }
      }
    EXPECT_GT(worst, 0.4);
  }
}

// Parts of a byte that become bytes would make the weight larger.
TEST(FoldConstants, TwoNumbersInAByteStaySo) {
  const auto graph = graph_with_data(R"(graph g(%x: f32[N,512]) {
  @w : u8[512,256]
  %1 = bit_and(@w, 15) : u8[512,256]
  %2 = shift_right(@w, 4) : u8[512,256]
  %3 = concat(%1, %2, axis=1) : u8[512,512]
  %4 = cast(%3) : f32[512,512]
  %5 = linear(%x, %4) : f32[N,512]
  return %5
}
)");
  fuse(*graph);
  ASSERT_EQ(graph->weights().size(), 1U);
  EXPECT_EQ(graph->weights().front()->name(), "w");
}

TEST(FoldConstants, AMatrixOfFloat8StaysSoHoweverSmall) {
  const auto graph = parse(R"(graph g(%x: f32[N,4], %s: f32[]) {
  @w : f8e4m3fn[4,4]
  %1 = cast(@w, to=f32) : f32[4,4]
  %2 = matmul(%x, %1) : f32[N,4]
  return %2
}
)");
  graph->set_weight_data(graph->weights().front().get(), Tensor::zeros(DType::f8e4m3fn, {4, 4}));
  fuse(*graph);
  EXPECT_EQ(graph->weights().front()->dtype(), DType::f8e4m3fn);
}

}  // namespace
}  // namespace tenon::testing
