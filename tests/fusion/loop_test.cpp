// What no anchor takes groups into loops.
#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

TEST(Loops, PointwiseChainsAndRowReductionsAreOneRegion) {
  expect_fused(R"(graph g(%x: f32[N,6], %y: f32[N,6]) {
  %1 = add(%x, %y) : f32[N,6]
  %2 = softmax(%1, axis=1) : f32[N,6]
  %3 = exp(%2) : f32[N,6]
  return %3
}
)",
               R"(graph g(%x: f32[N,6], %y: f32[N,6]) {
  %1 = fused { add(%x, %y); softmax(_, axis=1); exp } : f32[N,6]
  return %1
}
)");
}

// Each loop reads 16 bits; elements of their own width are kept.
TEST(Loops, WhatWidensIsComputedAgain) {
  expect_fused(R"(graph g(%x: f16[N,6], %y: f32[N,6]) {
  %1 = cast(%x, to=f32) : f32[N,6]
  %2 = mean(%1, axes=0) : f32[6]
  %3 = sub(%1, %2) : f32[N,6]
  %4 = mul(%3, %3) : f32[N,6]
  %5 = mean(%4, axes=0) : f32[6]
  %6 = div(%3, %5) : f32[N,6]
  return %6
}
)",
               R"(graph g(%x: f16[N,6], %y: f32[N,6]) {
  %1 = fused { cast(%x); mean(_, axes=0) } : f32[6]
  %2 = fused { cast(%x); sub(_, %1); mul(_, _); mean(_, axes=0) } : f32[6]
  %3 = fused { cast(%x); sub(_, %1); div(_, %2) } : f32[N,6]
  return %3
}
)");
  expect_fused(R"(graph g(%x: f32[N,6]) {
  %1 = exp(%x) : f32[N,6]
  %2 = mean(%1, axes=0) : f32[6]
  %3 = sub(%1, %2) : f32[N,6]
  return %3
}
)",
               R"(graph g(%x: f32[N,6]) {
  %1, %2 = fused { %1.1 = exp(%x); %1.2 = mean(%1.1, axes=0); return %1.1, %1.2 } : f32[N,6], f32[6]
  %3 = sub(%1, %2) : f32[N,6]
  return %3
}
)");
}

TEST(Loops, WhatIsTakenByIndexJoins) {
  expect_fused(R"(graph g(%i: i64[N,4], %x: f32[3,6], %j: i64[2]) {
  @words : f32[9,6]
  @places : f32[4,6]
  %1 = index_select(@words, %i) : f32[N,4,6]
  %2 = add(%1, @places) : f32[N,4,6]
  %3 = layer_norm(%2) : f32[N,4,6]
  %4 = exp(%x) : f32[3,6]
  %5 = index(%4, %j, axes=1) : f32[3,2]
  %6 = neg(%5) : f32[3,2]
  return %3, %6
}
)",
               R"(graph g(%i: i64[N,4], %x: f32[3,6], %j: i64[2]) {
  %1 = fused index_select(@words, %i) { add(_, @places); layer_norm } : f32[N,4,6]
  %2 = exp(%x) : f32[3,6]
  %3 = fused index(%2, %j, axes=1) { neg } : f32[3,2]
  return %1, %3
}
)");
}

// Where the last axis is padded, or short, the elements would be read one by one; so they would along a
// padded axis that is reduced.
TEST(Loops, WhatIsReadAtOtherIndicesOfOuterAxesJoins) {
  expect_fused(R"(graph g(%x: f32[N,6,16], %y: f32[N,6,17], %z: f32[N,6,3]) {
  %1 = pad(%x, pads=[0,1,0,0,-1,0]) : f32[N,6,16]
  %2 = sub(%1, %x) : f32[N,6,16]
  %3 = tanh(%2) : f32[N,6,16]
  %4 = pad(%3, pads=[0,0,0,0,0,1]) : f32[N,6,17]
  %5 = add(%4, %y) : f32[N,6,17]
  %6 = relu(%5) : f32[N,6,17]
  %7 = pad(%z, pads=[0,1,0,0,-1,0]) : f32[N,6,3]
  %8 = tanh(%7) : f32[N,6,3]
  %9 = pad(%x, pads=[0,1,0,0,0,0]) : f32[N,7,16]
  %10 = sum(%9, axes=1) : f32[N,16]
  return %6, %8, %10
}
)",
               R"(graph g(%x: f32[N,6,16], %y: f32[N,6,17], %z: f32[N,6,3]) {
  %1 = fused pad(%x, pads=[0,1,0,0,-1,0]) { sub(_, %x); tanh } : f32[N,6,16]
  %2 = pad(%1, pads=[0,0,0,0,0,1]) : f32[N,6,17]
  %3 = fused { add(%2, %y); relu } : f32[N,6,17]
  %4 = pad(%z, pads=[0,1,0,0,-1,0]) : f32[N,6,3]
  %5 = tanh(%4) : f32[N,6,3]
  %6 = pad(%x, pads=[0,1,0,0,0,0]) : f32[N,7,16]
  %7 = sum(%6, axes=1) : f32[N,16]
  return %3, %5, %7
}
)");
}

TEST(Loops, WhatIsTakenFromWeightsByKnownIndicesIsLeftToThePlanner) {
  expect_fused(R"(graph g(%x: f32[N,4,6]) {
  @words : f32[9,6]
  %1 = full(shape=[N,4], dtype=i64) : i64[N,4]
  %2 = index_select(@words, %1) : f32[N,4,6]
  %3 = add(%x, %2) : f32[N,4,6]
  %4 = relu(%3) : f32[N,4,6]
  return %4
}
)",
               R"(graph g(%x: f32[N,4,6]) {
  %1 = full(shape=[N,4], dtype=i64) : i64[N,4]
  %2 = index_select(@words, %1) : f32[N,4,6]
  %3 = fused { add(%x, %2); relu } : f32[N,4,6]
  return %3
}
)");
}

TEST(Loops, ReductionsToTruthsAndPlacesJoinToo) {
  expect_fused(R"(graph g(%x: f32[N,6]) {
  %1 = exp(%x) : f32[N,6]
  %2 = isnan(%1) : bool[N,6]
  %3 = any(%2, axes=[1]) : bool[N]
  %4 = argmax(%1, axis=1) : i64[N]
  %5 = amax(%1, axes=[1]) : f32[N]
  return %3, %4, %5
}
)",
               R"(graph g(%x: f32[N,6]) {
  %1, %2, %3 = fused { %1.1 = exp(%x); isnan(%1.1); %1.3 = any(_, axes=1); %1.4 = argmax(%1.1, axis=1); %1.5 = amax(%1.1, axes=1); return %1.3, %1.4, %1.5 } : bool[N], i64[N], f32[N]
  return %1, %2, %3
}
)");
}

// Which operators these are follows from their definitions.
TEST(Loops, EveryReductionJoinsThePointwiseOperatorBeforeIt) {
  int seen = 0;
  for (const OpInfo* info : all_ops()) {
    if (!info->reduction) continue;
    ++seen;
    const bool one = info->fields[0].name == "axis";
    const Op op = info->make().with(std::vector<std::pair<std::string, Attr>>{
        {one ? "axis" : "axes", one ? Attr(1) : Attr(Attr::List{Attr(1)})}});
    const std::string type = op.infer(std::vector{Type{DType::f32, {3, 6}}})[0].str();
    const auto graph = graph_with_data(fmt::format(
        "graph g(%x: f32[3,6]) {{\n  %1 = exp(%x) : f32[3,6]\n  %2 = {}(%1, {}) : {}\n  return %2\n}}\n",
        info->name, one ? "axis=1" : "axes=[1]", type));
    fuse(*graph);
    EXPECT_EQ(graph->body().nodes().size(), 1u) << body_text(*graph);
  }
  EXPECT_GE(seen, 9);
}

TEST(Loops, GroupsThatMeetAreOne) {
  expect_fused(R"(graph g(%x: f32[N,6], %y: f32[N,6]) {
  %1 = sigmoid(%x) : f32[N,6]
  %2 = tanh(%y) : f32[N,6]
  %3 = exp(%2) : f32[N,6]
  %4 = mul(%1, %3) : f32[N,6]
  return %4
}
)",
               R"(graph g(%x: f32[N,6], %y: f32[N,6]) {
  %1 = fused { %1.1 = sigmoid(%x); tanh(%y); exp; mul(%1.1, _) } : f32[N,6]
  return %1
}
)");
}

TEST(Loops, GroupsOverOtherElementsStayApart) {
  expect_fused(R"(graph g(%x: f32[N,6], %y: f32[6]) {
  %1 = tanh(%y) : f32[6]
  %2 = exp(%1) : f32[6]
  %3 = sigmoid(%x) : f32[N,6]
  %4 = mul(%3, %2) : f32[N,6]
  return %4
}
)",
               R"(graph g(%x: f32[N,6], %y: f32[6]) {
  %1 = fused { tanh(%y); exp } : f32[6]
  %2 = fused { sigmoid(%x); mul(_, %1) } : f32[N,6]
  return %2
}
)");
}

TEST(Loops, AResultUsedOutsideComesOutToo) {
  expect_fused(R"(graph g(%x: f32[N,6]) {
  %1 = exp(%x) : f32[N,6]
  %2 = neg(%1) : f32[N,6]
  return %1, %2
}
)",
               R"(graph g(%x: f32[N,6]) {
  %1, %2 = fused { %1.1 = exp(%x); %1.2 = neg(%1.1); return %1.1, %1.2 } : f32[N,6], f32[N,6]
  return %1, %2
}
)");
}

TEST(Loops, AGroupDoesNotReachOverWhatNeedsItsResult) {
  expect_refused(R"(graph g(%x: f32[4,4], %y: f32[4,4]) {
  %1 = exp(%x) : f32[4,4]
  %2 = cumsum(%1, axis=1) : f32[4,4]
  %3 = add(%1, %2) : f32[4,4]
  return %3
}
)",
                 "loop", "a result of the group is needed before");
}

TEST(CleanUp, MergesEqualNodesAndDropsDeadOnes) {
  expect_fused(R"(graph g(%x: f32[N,6]) {
  %1 = cumsum(%x, axis=1) : f32[N,6]
  %2 = cumsum(%x, axis=1) : f32[N,6]
  %3 = cumsum(%2, axis=0) : f32[N,6]
  %4 = concat(%1, %2, axis=1) : f32[N,12]
  return %4
}
)",
               R"(graph g(%x: f32[N,6]) {
  %1 = cumsum(%x, axis=1) : f32[N,6]
  %2 = concat(%1, %1, axis=1) : f32[N,12]
  return %2
}
)");
}

}  // namespace
}  // namespace tenon::testing
