// Products that compute their left side: which do, and that the numbers are the reference's.
#include "runtime/calls/prologue.h"

#include <fmt/format.h>

#include "ir/print.h"
#include "runtime/device.h"
#include "tests/runtime/on_device.h"
#include "tests/runtime/planned_run.h"

namespace tenon::testing {
namespace {

// It takes a millisecond to start a kernel, and nothing else.
Device device_of_slow_starts() {
  return {.name = "slow starts", .computes_prologues = true, .estimate = [](int, double, double) {
            return 1e-3;
          }};
}

void expect_taken(std::string_view before, std::string_view after) {
  const auto graph = parse(before);
  take_prologues(*graph, device_of_slow_starts());
  EXPECT_EQ(print(*graph), after);
  EXPECT_EQ(print(*parse(print(*graph))), after);
}
void expect_left(std::string_view text) { expect_taken(text, text); }

TEST(Prologue, PointwiseOperatorsBeforeALinear) {
  expect_taken(R"(graph g(%x: f32[9,8], %y: f32[8]) {
  @w : f32[6,8]
  %1 = fused { add(%x, %y); relu } : f32[9,8]
  %2 = fused linear(%1, @w) { sigmoid } : f32[9,6]
  return %2
}
)",
               R"(graph g(%x: f32[9,8], %y: f32[8]) {
  @w : f32[6,8]
  %1 = fused { add(%x, %y); relu; linear(_, @w); sigmoid } : f32[9,6]
  return %1
}
)");
}

TEST(Prologue, OneOperatorBeforeAConvolution) {
  expect_taken(R"(graph g(%x: f32[2,4,5,5]) {
  @w : f32[6,4,3,3]
  %1 = mul(%x, 0.5) : f32[2,4,5,5]
  %2 = conv(%1, @w, pad=1) : f32[2,6,5,5]
  return %2
}
)",
               R"(graph g(%x: f32[2,4,5,5]) {
  @w : f32[6,4,3,3]
  %1 = fused { mul(%x, 0.5); conv(_, @w, pad=1) } : f32[2,6,5,5]
  return %1
}
)");
}

TEST(Prologue, WhatOthersReadIsWritten) {
  expect_left(R"(graph g(%x: f32[9,8]) {
  @w : f32[6,8]
  %1 = relu(%x) : f32[9,8]
  %2 = linear(%1, @w) : f32[9,6]
  return %2, %1
}
)");
}

TEST(Prologue, RowsAreNotReducedForEachTile) {
  expect_left(R"(graph g(%x: f32[9,8]) {
  @w : f32[6,8]
  %1 = softmax(%x, axis=1) : f32[9,8]
  %2 = linear(%1, @w) : f32[9,6]
  return %2
}
)");
}

TEST(Prologue, FewRowsHaveKernelsOfTheirOwn) {
  expect_left(R"(graph g(%x: f32[4,8]) {
  @w : f32[6,8]
  %1 = relu(%x) : f32[4,8]
  %2 = linear(%1, @w) : f32[4,6]
  return %2
}
)");
}

TEST(Prologue, AGateOfEachImageIsNoRowOrColumn) {
  expect_left(R"(graph g(%x: f32[2,4,5,5], %gate: f32[2,4,1,1]) {
  @w : f32[6,4,1,1]
  %1 = mul(%x, %gate) : f32[2,4,5,5]
  %2 = conv(%1, @w) : f32[2,6,5,5]
  return %2
}
)");
}

TEST(Prologue, GroupsAndBatchesAreLeft) {
  expect_left(R"(graph g(%x: f32[2,4,5,5], %y: f32[2,9,9], %z: f32[2,9,9]) {
  @w : f32[6,2,3,3]
  %1 = relu(%x) : f32[2,4,5,5]
  %2 = conv(%1, @w, pad=1, groups=2) : f32[2,6,5,5]
  %3 = relu(%y) : f32[2,9,9]
  %4 = matmul(%3, %z) : f32[2,9,9]
  return %2, %4
}
)");
}

// 4,096 columns would compute each tanh 32 times.
TEST(Prologue, WhatCostsMoreThanItSavesIsLeft) {
  constexpr std::string_view text = R"(graph g(%x: f32[512,64]) {
  @w : f32[4096,64]
  %1 = tanh(%x) : f32[512,64]
  %2 = linear(%1, @w) : f32[512,4096]
  return %2
}
)";
  const auto graph = parse(text);
  Device device = device_of_slow_starts();
  device.estimate = [](int, double cost, double) { return cost; };
  take_prologues(*graph, device);
  EXPECT_EQ(print(*graph), text);
}

// On a GPU the product is one step.
void expect_one_step(std::string_view text, const std::vector<Tensor>& inputs, std::string_view kernel,
                     double tolerance = 2e-5) {
  expect_same_on(text, inputs, tolerance);
  Session session(graph_of(text));
  if (session.device().name == "cpu" || session.device().name == "far") return;
  const auto kernels = kinds_of(*session.plan_for(inputs));
  EXPECT_NE(std::find(kernels.begin(), kernels.end(), kernel), kernels.end())
      << text << session.plan_for(inputs)->text();
}

std::vector<Tensor> inputs_for(std::string_view text) { return inputs_of(*graph_of(text), {}); }

TEST(PrologueOn, MatricesOfAnyLayout) {
  for (const char* type : {"f32", "f16", "bf16", "f64"}) {
    const std::string text = fmt::format(R"(graph g(%x: {0}[70,30], %y: {0}[30,1], %z: {0}[70]) {{
  @w : {0}[70,50]
  %1 = permute(%x, axes=[1,0]) : {0}[30,70]
  %2 = fused {{ mul(%1, %y); add(_, %z); tanh }} : {0}[30,70]
  %3 = fused matmul(%2, @w) {{ relu }} : {0}[30,50]
  return %3
}})",
                                         type);
    expect_one_step(text, inputs_for(text), "product of tiles+prologue+tile", 3e-2);
  }
}

TEST(PrologueOn, RowsOfSeveralAxes) {
  constexpr std::string_view text = R"(graph g(%x: f32[3,11,20], %y: f32[3,11,20]) {
  @w : f32[24,20]
  @b : f32[24]
  %1 = fused { sigmoid(%x); mul(_, %y) } : f32[3,11,20]
  %2 = linear(%1, @w, @b) : f32[3,11,24]
  return %2
})";
  expect_one_step(text, inputs_for(text), "product of tiles+prologue+tile");
}

// What lies around the image is 0, not the sigmoid of it.
TEST(PrologueOn, WindowsThatReachOut) {
  constexpr std::string_view text = R"(graph g(%x: f32[2,5,9,7], %y: f32[1,5,1,1]) {
  @w : f32[12,5,3,3]
  %1 = fused { add(%x, %y); sigmoid } : f32[2,5,9,7]
  %2 = fused conv(%1, @w, stride=2, pad=2, dilation=2) { relu } : f32[2,12,5,4]
  return %2
})";
  expect_one_step(text, inputs_for(text), "windows product of tiles+prologue+tile");
}

TEST(PrologueOn, TheResidualThatTheLeftSideIsComputedFrom) {
  constexpr std::string_view text = R"(graph g(%x: f32[2,4,6,6], %s: f32[1,8,1,1]) {
  @v : f32[8,4,3,3]
  @w : f32[8,8,1,1]
  %1 = conv(%x, @v, pad=1) : f32[2,8,6,6]
  %2 = fused { mul(%1, %s); relu } : f32[2,8,6,6]
  %3 = fused conv(%2, @w) { add(_, %1) } : f32[2,8,6,6]
  return %3
})";
  expect_one_step(text, inputs_for(text), "product of tiles+prologue+tile");
}

// The residual lies in another order than the convolution's rows: no kernel takes the group. Its prologue is
// a loop.
TEST(PrologueOn, OfAGroupThatNoKernelTakes) {
  constexpr std::string_view text = R"(graph g(%x: f32[2,8,6,6], %s: f32[1,8,1,1]) {
  @w : f32[8,8,1,1]
  %1 = fused { mul(%x, %s); relu } : f32[2,8,6,6]
  %2 = fused conv(%1, @w) { add(_, %x) } : f32[2,8,6,6]
  return %2
})";
  const auto inputs = inputs_for(text);
  expect_same_on(text, inputs);
  Session session(graph_of(text));
  if (session.device().name == "cpu" || session.device().name == "far") return;
  EXPECT_EQ(kinds_of(*session.plan_for(inputs)),
            (std::vector<std::string>{"loop", "product of tiles", "loop"}));
}

// In a product's prologue, too.
TEST(PrologueOn, AnIntegerDivisionByZeroIsFound) {
  for (const char* division : {"floor_div", "remainder", "fmod"}) {
    const std::string text = fmt::format(R"(graph g(%a: i64[6,4], %b: i64[6,4]) {{
  @w : f32[8,4]
  %1 = fused {{ {}(%a, %b); cast }} : f32[6,4]
  %2 = linear(%1, @w) : f32[6,8]
  return %2
}})",
                                         division);
    Tensor by = random_integers(DType::i64, {6, 4}, 1, 9, 2);
    const Tensor x = random_integers(DType::i64, {6, 4}, -9, 9, 1);
    expect_same_on(text, {x, by});
    by.set_int(Index{3, 2}, 0);
    expect_fault(text, {x, by}, "ZeroDivisionError");
  }
}

TEST(PrologueOn, CastsOfFloat8) {
  constexpr std::string_view text = R"(graph g(%x: f8e4m3fn[40,32]) {
  @w : f32[24,32]
  %1 = cast(%x) : f32[40,32]
  %2 = linear(%1, @w) : f32[40,24]
  return %2
})";
  expect_one_step(text, inputs_for(text), "product of tiles+prologue");
}

}  // namespace
}  // namespace tenon::testing
