// Operators of 16-bit floats run on kernels of float32, and give what their references give.
#include "runtime/widen.h"

#include "ir/print.h"
#include "kernels/cpu/row_gemm.h"
#include "runtime/device.h"
#include "tests/runtime/graphs.h"
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

void expect_widened(std::string_view before, std::string_view after) {
  const auto graph = parse(before);
  widen_small_floats(*graph, cpu_device());
  EXPECT_EQ(print(*graph), after);
  EXPECT_EQ(print(*parse(print(*graph))), after);
}

TEST(Widen, OperandsAreCastAndTheResultIsRoundedInTheGroup) {
  expect_widened(R"(graph g(%x: f16[4,8]) {
  @w : f16[6,8]
  @b : f16[6]
  %1 = linear(%x, @w, @b) : f16[4,6]
  return %1
}
)",
                 R"(graph g(%x: f16[4,8]) {
  @w : f16[6,8]
  @b : f16[6]
  %1 = cast(%x) : f32[4,8]
  %2 = cast(@w) : f32[6,8]
  %3 = cast(@b) : f32[6]
  %4 = fused linear(%1, %2, %3) { cast(_, to=f16); cast } : f32[4,6]
  %5 = cast(%4, to=f16) : f16[4,6]
  return %5
}
)");
}

TEST(Widen, MembersOfTheGroupKeepTheirType) {
  expect_widened(R"(graph g(%x: f16[4,8], %y: f16[4,6]) {
  @w : f16[8,6]
  %1 = fused matmul(%x, @w) { add(_, %y); relu } : f16[4,6]
  return %1
}
)",
                 R"(graph g(%x: f16[4,8], %y: f16[4,6]) {
  @w : f16[8,6]
  %1 = cast(%x) : f32[4,8]
  %2 = cast(@w) : f32[8,6]
  %3 = fused matmul(%1, %2) { cast(_, to=f16); add(_, %y); relu; cast } : f32[4,6]
  %4 = cast(%3, to=f16) : f16[4,6]
  return %4
}
)");
}

TEST(Widen, ReadersInFloat32ReadTheResultAsItIs) {
  expect_widened(R"(graph g(%x: f16[4,8]) {
  @a : f16[8,8]
  %1 = matmul(%x, @a) : f16[4,8]
  %2 = cast(%1) : f32[4,8]
  %3 = sum(%2, axes=1) : f32[4]
  %4 = fused { cast(%1); exp } : f32[4,8]
  return %3, %4
}
)",
                 R"(graph g(%x: f16[4,8]) {
  @a : f16[8,8]
  %1 = cast(%x) : f32[4,8]
  %2 = cast(@a) : f32[8,8]
  %3 = fused matmul(%1, %2) { cast(_, to=f16); cast } : f32[4,8]
  %4 = sum(%3, axes=1) : f32[4]
  %5 = fused { exp(%3) } : f32[4,8]
  return %4, %5
}
)");
}

TEST(Widen, ResidualsAndViewsAreReadWhereTheyAreWide) {
  expect_widened(R"(graph g(%x: f16[4,8]) {
  @a : f16[8,8]
  @b : f16[16,8]
  %1 = fused matmul(%x, @a) { add(_, %x); relu } : f16[4,8]
  %2 = reshape(%1, shape=[2,16]) : f16[2,16]
  %3 = matmul(%2, @b) : f16[2,8]
  return %3
}
)",
                 R"(graph g(%x: f16[4,8]) {
  @a : f16[8,8]
  @b : f16[16,8]
  %1 = cast(%x) : f32[4,8]
  %2 = cast(@a) : f32[8,8]
  %3 = fused matmul(%1, %2) { %3.2 = cast(_, to=f16); cast(%1, to=f16); add(%3.2, _); relu; cast } : f32[4,8]
  %4 = reshape(%3, shape=[2,16]) : f32[2,16]
  %5 = cast(@b) : f32[16,8]
  %6 = fused matmul(%4, %5) { cast(_, to=f16); cast } : f32[2,8]
  %7 = cast(%6, to=f16) : f16[2,8]
  return %7
}
)");
}

// Attention's kernel takes no operators behind it.
TEST(Widen, AttentionReadsViewsOfWhatIsWideAndIsRoundedBehind) {
  expect_widened(R"(graph g(%x: f16[5,8]) {
  @a : f16[8,8]
  %1 = matmul(%x, @a) : f16[5,8]
  %2 = reshape(%1, shape=[5,2,4]) : f16[5,2,4]
  %3 = permute(%2, axes=[1,0,2]) : f16[2,5,4]
  %4 = attention(%3, %3, %3) : f16[2,5,4]
  return %4
}
)",
                 R"(graph g(%x: f16[5,8]) {
  @a : f16[8,8]
  %1 = cast(%x) : f32[5,8]
  %2 = cast(@a) : f32[8,8]
  %3 = fused matmul(%1, %2) { cast(_, to=f16); cast } : f32[5,8]
  %4 = reshape(%3, shape=[5,2,4]) : f32[5,2,4]
  %5 = permute(%4, axes=[1,0,2]) : f32[2,5,4]
  %6 = attention(%5, %5, %5) : f32[2,5,4]
  %7 = cast(%6, to=f16) : f16[2,5,4]
  return %7
}
)");
}

// What is rounded and read in float32 is one loop; keys of earlier tokens are, too, where the new one is
// appended.
TEST(Widen, RoundedFloat32IsReadAsOneLoop) {
  expect_widened(R"(graph g(%x: f32[4,8], %y: f32[2,8]) {
  @w : f16[8,8]
  %1 = cast(%x, to=f16) : f16[4,8]
  %2 = linear(%1, @w) : f16[4,8]
  %3 = cast(%y, to=f16) : f16[2,8]
  %4 = concat(%3, %2, axis=0) : f16[6,8]
  %5 = linear(%4, @w) : f16[6,8]
  %6 = slice(%2, axis=0, start=1, end=2) : f16[1,8]
  %7 = cast(%6) : f32[1,8]
  return %5, %7
}
)",
                 R"(graph g(%x: f32[4,8], %y: f32[2,8]) {
  @w : f16[8,8]
  %1 = fused { cast(%x, to=f16); cast } : f32[4,8]
  %2 = cast(@w) : f32[8,8]
  %3 = fused linear(%1, %2) { cast(_, to=f16); cast } : f32[4,8]
  %4 = fused { cast(%y, to=f16); cast } : f32[2,8]
  %5 = concat(%4, %3) : f32[6,8]
  %6 = fused linear(%5, %2) { cast(_, to=f16); cast } : f32[6,8]
  %7 = cast(%6, to=f16) : f16[6,8]
  %8 = slice(%3, start=1, end=2) : f32[1,8]
  return %7, %8
}
)");
}

TEST(Widen, WhatIsChosenIsNotRoundedAgain) {
  expect_widened(R"(graph g(%x: f16[1,8,4,4]) {
  %1 = max_pool(%x, kernel=[2,2], stride=[2,2]) : f16[1,8,2,2]
  return %1
}
)",
                 R"(graph g(%x: f16[1,8,4,4]) {
  %1 = cast(%x) : f32[1,8,4,4]
  %2 = fused { max_pool(%1, kernel=[2,2], stride=[2,2]) } : f32[1,8,2,2]
  %3 = cast(%2, to=f16) : f16[1,8,2,2]
  return %3
}
)");
}

// The groups hold the casts of what convolutions of bfloat16 read and give.
TEST(Widen, ImagesBetweenConvolutionsStayBfloat16) {
  expect_widened(R"(graph g(%x: bf16[1,3,8,8]) {
  @a : bf16[4,3,1,1]
  @b : bf16[4,4,3,3]
  %1 = fused conv(%x, @a) { relu } : bf16[1,4,8,8]
  %2 = max_pool(%1, kernel=[2,2], stride=[2,2]) : bf16[1,4,4,4]
  %3 = fused conv(%2, @b, pad=1) { %3.2 = cast; cast(%2); add(%3.2, _); cast(_, to=bf16) } : bf16[1,4,4,4]
  return %3
}
)",
                 R"(graph g(%x: bf16[1,3,8,8]) {
  @a : bf16[4,3,1,1]
  @b : bf16[4,4,3,3]
  %1 = cast(@a) : f32[4,3,1,1]
  %2 = fused { cast(%x); conv(_, %1); cast(_, to=bf16); relu } : bf16[1,4,8,8]
  %3 = max_pool(%2, kernel=[2,2], stride=[2,2]) : bf16[1,4,4,4]
  %4 = cast(@b) : f32[4,4,3,3]
  %5 = fused { cast(%3); conv(_, %4, pad=1); cast(_, to=bf16); %5.4 = cast; cast(%3); add(%5.4, _); cast(_, to=bf16) } : bf16[1,4,4,4]
  return %5
}
)");
}

// What others read, too, is float32 for all, and convolutions of these read it so.
TEST(Widen, WhatOtherKernelsReadIsFloat32) {
  expect_widened(R"(graph g(%x: bf16[1,4,8,8]) {
  @a : bf16[4,4,1,1]
  @b : bf16[4,1,3,3]
  %1 = fused conv(%x, @a) { relu } : bf16[1,4,8,8]
  %2 = conv(%1, @b, pad=1, groups=4) : bf16[1,4,8,8]
  %3 = conv(%2, @a) : bf16[1,4,8,8]
  return %3
}
)",
                 R"(graph g(%x: bf16[1,4,8,8]) {
  @a : bf16[4,4,1,1]
  @b : bf16[4,1,3,3]
  %1 = cast(@a) : f32[4,4,1,1]
  %2 = fused { cast(%x); conv(_, %1); cast(_, to=bf16); relu; cast } : f32[1,4,8,8]
  %3 = cast(@b) : f32[4,1,3,3]
  %4 = fused conv(%2, %3, pad=1, groups=4) { cast(_, to=bf16); cast } : f32[1,4,8,8]
  %5 = fused conv(%4, %1) { cast(_, to=bf16) } : bf16[1,4,8,8]
  return %5
}
)");
}

TEST(Widen, WhatAKernelComputesInItsOwnTypeStays) {
  constexpr std::string_view text = R"(graph g(%x: bf16[1,2,4,4], %a: bf16[8,8], %v: bf16[8,1]) {
  %1 = interpolate(%x, output=[8,8]) : bf16[1,2,8,8]
  %2 = matmul(%a, %v) : bf16[8,1]
  return %1, %2
}
)";
  expect_widened(text, text);
}

TEST(Widen, NothingIsCastBetweenTwoOfThem) {
  expect_widened(R"(graph g(%x: f16[4,8]) {
  @a : f16[8,8]
  @b : f16[8,8]
  %1 = fused matmul(%x, @a) { relu } : f16[4,8]
  %2 = matmul(%1, @b) : f16[4,8]
  return %2
}
)",
                 R"(graph g(%x: f16[4,8]) {
  @a : f16[8,8]
  @b : f16[8,8]
  %1 = cast(%x) : f32[4,8]
  %2 = cast(@a) : f32[8,8]
  %3 = fused matmul(%1, %2) { cast(_, to=f16); relu; cast } : f32[4,8]
  %4 = cast(@b) : f32[8,8]
  %5 = fused matmul(%3, %4) { cast(_, to=f16); cast } : f32[4,8]
  %6 = cast(%5, to=f16) : f16[4,8]
  return %6
}
)");
}

TEST(Widen, OtherTypesAndOperatorsStay) {
  constexpr std::string_view text = R"(graph g(%x: f32[4,8], %y: bf16[4,8], %i: i32[8,8]) {
  @w : f32[8,8]
  %1 = matmul(%x, @w) : f32[4,8]
  %2 = softmax(%y, axis=1) : bf16[4,8]
  %3 = matmul(%i, %i) : i32[8,8]
  return %1, %2, %3
}
)";
  expect_widened(text, text);
}

std::string with_floats(std::string text, std::string_view dtype) {
  for (std::size_t at = 0; (at = text.find("f32[", at)) != std::string::npos; at += dtype.size())
    text.replace(at, 3, dtype);
  return text;
}

TEST(Widen, NetworksOf16BitFloatsGiveWhatTheReferenceGives) {
  for (const auto& [dtype, tolerance] : {std::pair{"bf16", 3e-2}, {"f16", 4e-3}})
    for (const char* net : {residual_net, u_net, transformer}) {
      const std::string text = with_floats(net, dtype);
      const auto graph = graph_of(text);
      expect_same_on(text, inputs_of(*graph, {{"N", 2}, {"seq", 5}}), tolerance);
    }
}

// A stem of an odd number of channels, a maximum, Winograd or products, a residual, a stride.
TEST(Widen, ConvolutionsOfBfloat16ReadAndWriteItByEveryKernel) {
  const auto graph = graph_of(R"(graph g(%x: bf16[2,3,19,17]) {
  @stem : bf16[16,3,7,7]
  @stem_b : bf16[16]
  @a : bf16[16,16,3,3]
  @b : bf16[16,16,1,1]
  @down : bf16[20,16,3,3]
  %1 = fused conv(%x, @stem, @stem_b, stride=2, pad=3) { relu } : bf16[2,16,10,9]
  %2 = max_pool(%1, kernel=[3,3], stride=[2,2], pad=[1,1]) : bf16[2,16,5,5]
  %3 = fused conv(%2, @a, pad=1) { relu } : bf16[2,16,5,5]
  %4 = fused conv(%3, @b) { %4.2 = cast; cast(%2); add(%4.2, _); relu; cast(_, to=bf16) } : bf16[2,16,5,5]
  %5 = fused conv(%4, @down, stride=2, pad=1) { gelu } : bf16[2,20,3,3]
  return %5
}
)");
  const auto inputs = inputs_of(*graph, {});
  const auto expected = evaluate(*graph, inputs);
  std::size_t most = 1;
  for (std::size_t turn = 0; turn < most; ++turn) {
    Session session(graph, {.threads = 2, .choose = [&](const Group&, std::span<const CandidateInfo> all) {
                              most = std::max(most, all.size());
                              return Decision{turn % all.size(), "its turn in a test"};
                            }});
    const auto plan = session.plan_for(inputs);
    // One step each, and copies to and from the order in which they lie.
    if (turn == 0 && session.device().name == "cpu") { EXPECT_EQ(plan->steps.size(), 7u) << plan->text(); }
    expect_close(session.run(inputs)[0], expected[0], 3e-2);
    if (HasFailure()) FAIL() << plan->text();
  }
}

// The CPU reads and writes them as they lie: one step.
TEST(Widen, ProductsOfBatchesOfBfloat16) {
  const std::string_view graphs[] = {
      R"(graph g(%a: bf16[3,25,17], %b: bf16[3,17,20]) {
  %1 = matmul(%a, %b) : bf16[3,25,20]
  return %1
}
)",
      R"(graph g(%a: bf16[2,3,17,16], %b: bf16[2,3,33,16], %m: bf16[2,3,17,33]) {
  %1 = permute(%b, axes=[0,1,3,2]) : bf16[2,3,16,33]
  %2 = fused matmul(%a, %1) { add(_, %m); relu } : bf16[2,3,17,33]
  return %2
}
)",
      R"(graph g(%a: bf16[9,24,17], %b: bf16[17,9,24]) {
  %1 = permute(%b, axes=[1,0,2]) : bf16[9,17,24]
  %2 = matmul(%a, %1) : bf16[9,24,24]
  return %2
}
)"};
  for (const std::string_view text : graphs) {
    const auto graph = graph_of(text);
    expect_same_on(text, inputs_of(*graph, {}), 2e-2);
    Session session(graph);
    if (session.device().name != "cpu") continue;
    const auto plan = session.plan_for(inputs_of(*graph, {}));
    EXPECT_EQ(plan->steps.size(), 1u) << plan->text();
  }
}

// The CPU's kernel for bfloat16 rounds the weights, too: only where the result is rounded.
TEST(Widen, AttentionOfBfloat16) {
  constexpr std::string_view narrow =
      R"(graph g(%q: bf16[2,3,40,24], %k: bf16[2,3,50,24], %v: bf16[2,3,50,17]) {
  %1 = attention(%q, %k, %v) : bf16[2,3,40,17]
  return %1
}
)";
  constexpr std::string_view wide =
      R"(graph g(%q: bf16[2,3,40,24], %k: bf16[2,3,50,24], %v: bf16[2,3,50,17]) {
  %1 = cast(%q, to=f32) : f32[2,3,40,24]
  %2 = cast(%k, to=f32) : f32[2,3,50,24]
  %3 = cast(%v, to=f32) : f32[2,3,50,17]
  %4 = attention(%1, %2, %3) : f32[2,3,40,17]
  return %4
}
)";
  for (const std::string_view text : {narrow, wide}) {
    const auto graph = graph_of(text);
    const auto inputs = inputs_of(*graph, {});
    expect_same_on(text, inputs, text == narrow ? 2e-2 : 1e-5);
    Session session(graph);
    if (session.device().name != "cpu") continue;
    const std::string plan = session.plan_for(inputs)->text();
    const bool is_of_bf16 = plan.find("[attention bf16]") != std::string::npos;
    EXPECT_EQ(is_of_bf16, text == narrow && cpu::runs_dot_of_bf16()) << plan;
  }
}

// baddbmm and addmm: products of float32 between casts, to which something is added before one rounding. A
// linear by a weight, a convolution of groups and a transposed one.
TEST(Widen, ProductsOfBfloat16BetweenCastsAndByWeightsAreOneStep) {
  const std::pair<std::string_view, std::size_t> graphs[] = {
      {R"(graph g(%c: bf16[3,17,20], %a: bf16[3,17,8], %b: bf16[3,8,20]) {
  %1 = cast(%a) : f32[3,17,8]
  %2 = cast(%b) : f32[3,8,20]
  %3 = fused { %3.1 = cast(%c); matmul(%1, %2); add(%3.1, _) } : f32[3,17,20]
  %4 = cast(%3, to=bf16) : bf16[3,17,20]
  return %4
}
)",
       1},
      {R"(graph g(%c: bf16[20], %a: bf16[17,9], %b: bf16[9,20]) {
  %1 = cast(%a) : f32[17,9]
  %2 = cast(%b) : f32[9,20]
  %3 = fused { %3.1 = cast(%c); matmul(%1, %2); add(%3.1, _) } : f32[17,20]
  %4 = cast(%3, to=bf16) : bf16[17,20]
  return %4
}
)",
       1},
      {R"(graph g(%c: bf16[3,1,20], %a: bf16[3,17,8], %b: bf16[3,8,20]) {
  %1 = cast(%a) : f32[3,17,8]
  %2 = cast(%b) : f32[3,8,20]
  %3 = fused { %3.1 = cast(%c); matmul(%1, %2); add(%3.1, _) } : f32[3,17,20]
  %4 = cast(%3, to=bf16) : bf16[3,17,20]
  return %4
}
)",
       2},
      {R"(graph g(%a: bf16[17,8], %b: bf16[8,20]) {
  %1 = cast(%a) : f32[17,8]
  %2 = cast(%b) : f32[8,20]
  %3 = matmul(%1, %2) : f32[17,20]
  %4 = cast(%3, to=bf16) : bf16[17,20]
  return %1, %3, %4
}
)",
       3},
      {R"(graph g(%x: bf16[70,33]) {
  @w : bf16[24,33]
  @b : bf16[24]
  @v : bf16[24,18]
  %1 = fused linear(%x, @w, @b) { gelu } : bf16[70,24]
  %2 = fused matmul(%1, @v) { relu } : bf16[70,18]
  return %2
}
)",
       2}};
  for (const auto& [text, steps] : graphs) {
    const auto graph = graph_of(text);
    expect_same_on(text, inputs_of(*graph, {}), 2e-2);
    Session session(graph);
    if (session.device().name != "cpu" || !cpu::runs_dot_of_bf16()) continue;
    const auto plan = session.plan_for(inputs_of(*graph, {}));
    EXPECT_EQ(plan->steps.size(), steps) << plan->text();
  }
}

TEST(Widen, GroupsAndTransposedConvolutionsOfBfloat16) {
  for (const std::string_view text : {R"(graph g(%x: bf16[2,16,7,6]) {
  @w : bf16[24,4,3,3]
  @b : bf16[24]
  %1 = fused conv(%x, @w, @b, pad=1, groups=4) { relu } : bf16[2,24,7,6]
  return %1
}
)",
                                      R"(graph g(%x: bf16[2,16,7,6]) {
  @w : bf16[16,9,2,3]
  @b : bf16[9]
  %1 = conv_transpose(%x, @w, @b, stride=2) : bf16[2,9,14,13]
  return %1
}
)",
                                      R"(graph g(%x: bf16[2,16,7,6]) {
  @w : bf16[16,9,2,3]
  %1 = fused conv_transpose(%x, @w, stride=2) { relu } : bf16[2,9,14,13]
  return %1
}
)"}) {
    const auto graph = graph_of(text);
    expect_same_on(text, inputs_of(*graph, {}), 2e-2);
    Session session(graph);
    if (session.device().name != "cpu" || !cpu::runs_dot_of_bf16()) continue;
    // The images are copied to and from the order of channels last.
    const auto plan = session.plan_for(inputs_of(*graph, {}));
    EXPECT_EQ(plan->text().find("[loop]"), std::string::npos) << plan->text();
  }
}

TEST(Widen, KernelsOfTheCpuRunAllProductsAndPools) {
  const std::string text = with_floats(u_net, "bf16");
  const auto graph = graph_of(text);
  Session session(graph);
  const auto plan = session.plan_for(inputs_of(*graph, {{"N", 1}}));
  for (const auto& step : plan->steps) EXPECT_NE(step->info.kind, StepKind::reference) << plan->text();
}

// Their kernels are of float32: the values are cast around them, the places stay.
TEST(Widen, OperatorsOfTwoResults) {
  const std::string_view graphs[] = {
      "graph g(%x: bf16[2,40]) {\n  %1, %2 = cummax(%x, axis=1) : bf16[2,40], i64[2,40]\n  return %1, "
      "%2\n}\n",
      "graph g(%x: f16[1,70,6,6]) {\n"
      "  %1, %2 = max_pool_indices(%x, kernel=2, stride=2) : f16[1,70,3,3], i64[1,70,3,3]\n  return %1, "
      "%2\n}\n"};
  for (const std::string_view text : graphs) {
    const auto graph = graph_of(text);
    expect_same_on(text, inputs_of(*graph, {}), 0);
    Session session(graph);
    const auto plan = session.plan_for(inputs_of(*graph, {}));
    for (const auto& step : plan->steps) EXPECT_NE(step->info.kind, StepKind::reference) << plan->text();
  }
}

}  // namespace
}  // namespace tenon::testing
