// What a plan avoids: steps for views, copies for concatenations and layouts, memory for dead values.
#include <fmt/core.h>

#include "ir/print.h"
#include "runtime/devices.h"
#include "tests/runtime/graphs.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

using Kernels = std::vector<std::string>;

TEST(Plan, ViewsAreNoSteps) {
  const auto plan = plan_of(R"(graph g(%x: f32[N,6,4]) {
  %1 = exp(%x) : f32[N,6,4]
  %2 = reshape(%1, shape=[N,2,3,4]) : f32[N,2,3,4]
  %3 = permute(%2, axes=[0,2,1,3]) : f32[N,3,2,4]
  %4 = slice(%3, axis=1, start=1, end=3) : f32[N,2,2,4]
  %5 = expand(%4, shape=[5,N,2,2,4]) : f32[5,N,2,2,4]
  %6 = relu(%5) : f32[5,N,2,2,4]
  return %6
}
)",
                            {{"N", 2}});
  EXPECT_EQ(kernels_of(*plan), (Kernels{"loop", "loop"})) << plan->text();
}

TEST(Plan, SkipConnectionsAreConcatenatedInPlace) {
  const auto plan = plan_of(u_net, {{"N", 2}});
  EXPECT_EQ(plan->copies(), 1) << plan->text();  // the input, to channels-last
  EXPECT_EQ(plan->steps[0]->info.kind, StepKind::copy);
}

TEST(Plan, ConvolutionNetsCopyTheInputAndNothingElse) {
  const auto plan = plan_of(residual_net, {{"N", 2}});
  EXPECT_EQ(plan->copies(), 1) << plan->text();
  const PlannedTensor& pooled = plan->steps[plan->steps.size() - 2]->writes[0];
  EXPECT_EQ(plan->steps.back()->reads.size(), 3u);
  EXPECT_EQ(plan->steps.back()->reads[1].buffer(), pooled.buffer()) << "flatten should be a view";
}

TEST(Plan, HeadsAreReadAndWrittenWhereTheyLie) {
  const auto plan = plan_of(transformer, {{"N", 2}, {"seq", 6}});
  EXPECT_EQ(plan->copies(), 0) << plan->text();
}

TEST(Plan, NestedConcatenationsAreWrittenOnce) {
  const auto plan = plan_of(R"(graph g(%x: f32[N,4]) {
  %1 = exp(%x) : f32[N,4]
  %2 = relu(%x) : f32[N,4]
  %3 = concat(%1, %2, axis=1) : f32[N,8]
  %4 = neg(%x) : f32[N,4]
  %5 = concat(%3, %4, axis=1) : f32[N,12]
  return %5
}
)",
                            {{"N", 3}});
  EXPECT_EQ(kernels_of(*plan), (Kernels{"loop", "loop", "loop"})) << plan->text();
}

TEST(Plan, StackedStepsOfARecurrenceAreWrittenInPlace) {
  const auto plan = plan_of(R"(graph g(%x: f32[N,8]) {
  @w : f32[8,8]
  %1 = fused linear(%x, @w) { tanh } : f32[N,8]
  %2 = fused linear(%1, @w) { tanh } : f32[N,8]
  %3 = reshape(%1, shape=[N,1,8]) : f32[N,1,8]
  %4 = reshape(%2, shape=[N,1,8]) : f32[N,1,8]
  %5 = concat(%3, %4, axis=1) : f32[N,2,8]
  return %5
}
)",
                            {{"N", 3}});
  EXPECT_EQ(plan->copies(), 0) << plan->text();
}

TEST(Plan, WhatIsConcatenatedTwiceIsCopiedOnce) {
  const auto plan = plan_of(R"(graph g(%x: f32[N,4]) {
  %1 = exp(%x) : f32[N,4]
  %2 = concat(%1, %x, axis=1) : f32[N,8]
  %3 = concat(%1, %1, axis=0) : f32[2*N,4]
  return %2, %3
}
)",
                            {{"N", 3}});
  EXPECT_EQ(plan->copies(), 3) << plan->text();  // x, and both parts of the second one
}

TEST(Plan, PointwiseOperatorsWriteOverWhatDies) {
  const auto plan = plan_of(R"(graph g(%x: f32[N,1024], %y: f32[N,1024]) {
  %1 = cumsum(%x, axis=1) : f32[N,1024]
  %2 = mul(%1, %y) : f32[N,1024]
  %3 = exp(%2) : f32[N,1024]
  %4 = cumsum(%3, axis=1) : f32[N,1024]
  return %4
}
)",
                            {{"N", 4}});
  EXPECT_EQ(plan->arena_bytes, 4u * 1024 * 4) << plan->text();
}

TEST(Plan, AValueThatIsStillNeededIsNotOverwritten) {
  const char* text = R"(graph g(%x: f32[N,8]) {
  %1 = cumsum(%x, axis=1) : f32[N,8]
  %2 = exp(%1) : f32[N,8]
  %3 = permute(%1, axes=[1,0]) : f32[8,N]
  %4 = neg(%2) : f32[N,8]
  %5 = matmul(%4, %3) : f32[N,N]
  return %5
}
)";
  expect_same_as_reference(text, {{{"N", 4}}});
}

TEST(Plan, AnotherViewOfTheSameMemoryIsNotOverwritten) {
  const char* text = R"(graph g(%x: f32[N,8]) {
  %1 = cumsum(%x, axis=1) : f32[N,8]
  %2 = slice(%1, axis=1, start=1, end=8) : f32[N,7]
  %3 = slice(%1, axis=1, start=0, end=7) : f32[N,7]
  %4 = sub(%2, %3) : f32[N,7]
  return %4
}
)";
  expect_same_as_reference(text, {{{"N", 4}}});
}

// A residual that the group reads once more, behind the activation or in its loop program.
TEST(Plan, AResidualThatIsReadTwiceIsNotOverwritten) {
  for (const char* body :
       {"add(_, %1); relu; add(_, %1)", "add(_, %1); mul(_, %1)", "relu; add(_, %1); mul(_, %1)"})
    for (const char* anchor : {"linear(%2, @w)", "linear(%2, @w, @b)"}) {
      const auto graph = graph_of(fmt::format(R"(graph g(%x: f32[3,4200], %y: f32[3,40]) {{
  @w : f32[40,4200]
  @b : f32[40]
  %1 = sigmoid(%y) : f32[3,40]
  %2 = tanh(%x) : f32[3,4200]
  %3 = fused {} {{ {} }} : f32[3,40]
  %4 = neg(%3) : f32[3,40]
  return %4
}})",
                                              anchor, body));
      const auto inputs = inputs_of(*graph, {});
      SCOPED_TRACE(print(*graph));
      expect_close(Session(graph).run(inputs)[0], evaluate(*graph, inputs)[0], 1e-4);
    }
}

TEST(Plan, TensorsWithoutElementsAreConcatenatedAndReduced) {
  const char* text = R"(graph g(%x: f32[N,0], %y: f32[N,0]) {
  %1 = reshape(%x, shape=[N,0,1]) : f32[N,0,1]
  %2 = reshape(%y, shape=[N,0,1]) : f32[N,0,1]
  %3 = concat(%1, %2, axis=2) : f32[N,0,2]
  %4 = mean(%x, axes=[1], keepdim=true) : f32[N,1]
  %5 = sub(%x, %4) : f32[N,0]
  %6 = sum(%5, axes=[1]) : f32[N]
  %7 = div(%6, 0.0) : f32[N]
  return %3, %7
}
)";
  expect_same_as_reference(text, {{{"N", 4}}});
}

// Of rows 2 KiB apart, those that a product reads at once would meet in few sets of the cache.
TEST(Plan, RowsThatProductsReadLieApart) {
  constexpr auto text = R"(graph g(%x: f32[3,16,512]) {
  @q : f32[512,512]
  @k : f32[512,512]
  @out : f32[512,512]
  @last : f32[8,512]
  %1 = exp(%x) : f32[3,16,512]
  %2 = linear(%1, @q) : f32[3,16,512]
  %3 = linear(%1, @k) : f32[3,16,512]
  %4 = reshape(%2, shape=[3,16,8,64]) : f32[3,16,8,64]
  %5 = permute(%4, axes=[0,2,1,3]) : f32[3,8,16,64]
  %6 = reshape(%3, shape=[3,16,8,64]) : f32[3,16,8,64]
  %7 = permute(%6, axes=[0,2,1,3]) : f32[3,8,16,64]
  %8 = attention(%5, %7, %7, scale=0.001) : f32[3,8,16,64]
  %9 = permute(%8, axes=[0,2,1,3]) : f32[3,16,8,64]
  %10 = reshape(%9, shape=[3,16,512]) : f32[3,16,512]
  %11 = fused linear(%10, @out) { add(_, %1); relu } : f32[3,16,512]
  %12 = linear(%11, @last) : f32[3,16,8]
  return %12
}
)";
  if (default_device().memory.row_period == 0) GTEST_SKIP() << "on this device rows lie close together";
  const auto plan = plan_of(text);
  EXPECT_EQ(plan->copies(), 0) << plan->text();
  ASSERT_EQ(plan->steps.size(), 6u) << plan->text();
  for (std::size_t step = 0; step < 5; ++step) {
    const Strided& result = plan->steps[step]->writes[0];
    EXPECT_EQ(result.strides()[0], 16 * 528) << plan->text();
    EXPECT_EQ(result.strides()[result.rank() == 4 ? 2 : 1], 528) << plan->text();
  }
  expect_same_as_reference(text);
}

TEST(Plan, RowsThatAnybodyElseWantsDenseDoNot) {
  for (const char* other : {"reshape(%1, shape=[32,256])", "cumsum(%1, axis=1)"}) {
    const auto plan = plan_of(fmt::format(R"(graph g(%x: f32[16,512]) {{
  @a : f32[8,512]
  %1 = exp(%x)
  %2 = linear(%1, @a)
  %3 = {}
  %4 = exp(%3)
  return %2, %4
}}
)",
                                          other));
    EXPECT_EQ(plan->steps[0]->writes[0].strides(), (Index{512, 1})) << plan->text();
  }
}

// Rows of 2 KiB lie apart where products read them and in images: a kernel of memory without gaps has such.
TEST(Plan, RowsLieApartOnlyForKernelsThatTakeThemSo) {
  for (const char* rows :
       {"pad(%y, pads=[1,0,1,0])", "pad(%y, pads=[1,0,1,0], mode=\"reflect\")", "flip(%x, axes=[0])",
        "cumsum(%x, axis=0)", "cumsum(%x, axis=1)", "softmax(%x, axis=0)", "gather(%x, %i, axis=0)",
        "index_select(%x, %m, axis=0)", "scatter(%x, %i, %x, axis=0)", "exp(%x)"})
    expect_same_as_reference(fmt::format(R"(graph g(%x: f32[16,512], %y: f32[14,512]) {{
  @a : f32[64,512]
  %s, %i = sort(%x, axis=0) : f32[16,512], i64[16,512]
  %m = argmax(%x, axis=0) : i64[512]
  %1 = {}
  %2 = linear(%1, @a)
  %3 = linear(%s, @a)
  return %2, %3
}}
)",
                                         rows));
  for (const char* image : {"pad(%i, pads=[0,0,1,1,0,0,1,1])", "flip(%i, axes=[2])", "cumsum(%i, axis=2)",
                            "interpolate(%i, mode=\"nearest\", output=[8,8], scales=[2.0,2.0])",
                            "interpolate(%i, mode=\"linear\", output=[8,8], scales=[2.0,2.0])",
                            "max_pool(%i, kernel=[2,2], stride=[1,1], pad=[0,0], dilation=[1,1])"})
    expect_same_as_reference(fmt::format(R"(graph g(%x: f32[1,8,4,4]) {{
  @c : f32[512,8,1,1]
  @a : f32[64,512]
  %i = conv(%x, @c)
  %1 = {}
  %2 = permute(%1, axes=[0,2,3,1])
  %3 = linear(%2, @a)
  return %3
}}
)",
                                         image));
  expect_same_as_reference(R"(graph g(%x: f32[4,256], %y: f32[4,256]) {
  %1 = complex(%x, %y)
  %2 = fft(%1)
  %3 = permute(%2, axes=[1,0])
  %4 = fft(%3)
  %5 = real(%4)
  return %5
}
)");
}

TEST(Plan, SoftmaxIsOneLoop) {
  const auto plan = plan_of(R"(graph g(%x: f32[N,6]) {
  %1 = softmax(%x, axis=1) : f32[N,6]
  return %1
}
)",
                            {{"N", 4}});
  EXPECT_EQ(kernels_of(*plan), Kernels{"row loop"}) << plan->text();
}

TEST(Plan, EpiloguesRunInRegistersOrOnTheTile) {
  const auto plan = plan_of(R"(graph g(%x: f32[N,16], %r: f32[N,24]) {
  @w : f32[24,16]
  @b : f32[24]
  %1 = fused linear(%x, @w) { add(_, @b); add(_, %r); relu } : f32[N,24]
  %2 = fused linear(%x, @w, @b) { gelu; mul(_, %r); add(_, @b) } : f32[N,24]
  return %1, %2
}
)",
                            {{"N", 4}});
  EXPECT_EQ(kernels_of(*plan), (Kernels{"gemm+bias+residual+relu", "gemm+bias+tile"})) << plan->text();
}

TEST(Plan, ActivationsAndTheResidualBehindThemAreTheKernels) {
  constexpr const char* text = R"(graph g(%x: f32[N,16], %r: f32[N,24]) {
  @w : f32[24,16]
  @b : f32[24]
  %1 = fused linear(%x, @w, @b) { gelu } : f32[N,24]
  %2 = fused linear(%x, @w) { add(_, %r); hardswish } : f32[N,24]
  %3 = fused linear(%x, @w) { silu; add(%r, _) } : f32[N,24]
  %4 = fused linear(%x, @w) { relu; add(_, %r) } : f32[N,24]
  %5 = fused linear(%x, @w) { clamp(_, min=0.0, max=6.0) } : f32[N,24]
  %6 = fused linear(%x, @w) { silu; silu } : f32[N,24]
  %7 = fused linear(%x, @w) { relu; tanh } : f32[N,24]
  %8 = fused linear(%x, @w) { tanh; add(_, @b) } : f32[N,24]
  return %1, %2, %3, %4, %5, %6, %7, %8
}
)";
  EXPECT_EQ(kernels_of(*plan_of(text, {{"N", 4}})),
            (Kernels{"gemm+bias+gelu", "gemm+residual+hardswish", "gemm+silu+residual", "gemm+relu+residual",
                     "gemm+clamp", "gemm+tile", "gemm+relu+tile", "gemm+tile"}));
  expect_same_as_reference(text, {{{"N", 1}}, {{"N", 4}}, {{"N", 31}}});
}

TEST(Plan, FusedGroupsThatNoKernelTakesAreOpened) {
  const char* text = R"(graph g(%x: f32[N,4], %y: f32[N,6]) {
  @w : f32[6,4]
  %1 = fused { %1.1 = exp(%x); %1.2 = sum(%1.1, axes=[1]); %1.3 = amax(%y, axes=[1]); %1.4 = add(%1.2, %1.3); return %1.4 } : f32[N]
  %2 = fused linear(%x, @w) { softmax(_, axis=1) } : f32[N,6]
  return %1, %2
}
)";
  expect_same_as_reference(text, {{{"N", 5}}});
}

// Tiles of six columns are too narrow for a program.
TEST(Plan, WhatStandsBehindAnAnchorIsOneLoopWhereNoKernelTakesBoth) {
  const char* text = R"(graph g(%x: f32[N,4], %y: f32[N,6]) {
  @w : f32[6,4]
  %1 = fused linear(%x, @w) { sin; mul(_, %y); cos; add(_, %y) } : f32[N,6]
  return %1
}
)";
  EXPECT_EQ(kernels_of(*plan_of(text, {{"N", 5}})), (Kernels{"gemm", "loop"}));
  expect_same_as_reference(text, {{{"N", 5}}});
}

TEST(Plan, ConcatenationsThatGrowShareTheirParts) {
  constexpr const char* dense_block = R"(graph g(%x: f32[2,8,6,6]) {
  @w1: f32[4,8,3,3]
  @w2: f32[4,12,3,3]
  @w3: f32[4,16,1,1]
  %1 = relu(%x) : f32[2,8,6,6]
  %2 = conv(%1, @w1, pad=1) : f32[2,4,6,6]
  %3 = concat(%1, %2, axis=1) : f32[2,12,6,6]
  %4 = conv(%3, @w2, pad=1) : f32[2,4,6,6]
  %5 = concat(%1, %2, %4, axis=1) : f32[2,16,6,6]
  %6 = relu(%5) : f32[2,16,6,6]
  %7 = conv(%6, @w3) : f32[2,4,6,6]
  %8 = concat(%1, %2, %4, %7, axis=1) : f32[2,20,6,6]
  %9 = sum(%8, axes=[2,3]) : f32[2,20]
  return %9
}
)";
  EXPECT_EQ(plan_of(dense_block)->copies(), 0);
  expect_same_as_reference(dense_block);
}

// The graph's output lies row-major, what convolutions read channels last: the block is kept in both orders,
// and its input is put into each of them once.
TEST(Plan, ConcatenationsThatGrowAreSharedInTheOrderOfTheirReaders) {
  constexpr const char* returned_block = R"(graph g(%x: f32[2,8,6,6]) {
  @w1: f32[4,8,3,3]
  @w2: f32[4,12,3,3]
  @w3: f32[4,16,1,1]
  %1 = conv(%x, @w1, pad=1) : f32[2,4,6,6]
  %2 = concat(%x, %1, axis=1) : f32[2,12,6,6]
  %3 = conv(%2, @w2, pad=1) : f32[2,4,6,6]
  %4 = concat(%x, %1, %3, axis=1) : f32[2,16,6,6]
  %5 = conv(%4, @w3) : f32[2,4,6,6]
  %6 = concat(%x, %1, %3, %5, axis=1) : f32[2,20,6,6]
  return %6
}
)";
  const auto plan = plan_of(returned_block);
  EXPECT_EQ(plan->copies(), 6) << plan->text();  // x for the first convolution and into both, the others out
  expect_same_as_reference(returned_block);
}

TEST(Plan, OfAConstantThatRepeatsASliceTheSliceIsRead) {
  constexpr auto text = R"(graph g() {
  %1 = full(shape=[30,2], value=2.5, dtype=f64) : f64[30,2]
  %2 = iota(size=2, dtype=f64) : f64[2]
  %3 = mul(%1, %2) : f64[30,2]
  %4 = iota(size=60, dtype=f64) : f64[60]
  return %1, %3, %4
}
)";
  const auto plan = plan_of(text);
  ASSERT_EQ(plan->copies(), 3) << plan->text();
  EXPECT_EQ(plan->steps[0]->reads[0].strides(), (Index{0, 0}));
  EXPECT_EQ(plan->steps[1]->reads[0].strides(), (Index{0, 1}));
  EXPECT_EQ(plan->steps[2]->reads[0].strides(), (Index{1}));
  expect_same_as_reference(text);
}

TEST(Plan, TextNamesKernelsAndPlaces) {
  const std::string text = plan_of(u_net, {{"N", 1}})->text();
  EXPECT_NE(text.find("arena+"), std::string::npos) << text;
  EXPECT_NE(text.find("[copy]"), std::string::npos) << text;
  EXPECT_NE(text.find("output 0"), std::string::npos) << text;
}

TEST(Device, SaysWhatRunsAnOperator) {
  for (const auto& [op, what] : {std::pair{"conv", "kernel"},
                                 {"relu", "loop"},
                                 {"sum", "loop"},
                                 {"argmax", "loop"},
                                 {"full", "loop"},
                                 {"reshape", "view"},
                                 {"flip", "view"},
                                 {"layer_norm", "parts"},
                                 {"fused", "parts"},
                                 {"sort", "kernel"},
                                 {"mode", "kernel"},
                                 {"unique", "kernel"},
                                 {"masked_scatter", "kernel"},
                                 {"count_up", "reference"},
                                 {"gcd", "kernel"},
                                 {"random_bits", "kernel"},
                                 {"eig", "reference"}})
    EXPECT_EQ(cpu_device().runs(find_op(op)->make()), what) << op;
}

}  // namespace
}  // namespace tenon::testing
