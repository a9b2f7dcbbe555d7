// What --explain-plan says.
#include "report/plan_explanation.h"

#include <sstream>

#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

std::string explanation_of(std::string_view text) {
  const auto graph = graph_of(text);
  Session session(graph);
  return explanation(*session.plan_with_stages(inputs_of(*graph, {})));
}

// Columns fill the panels of every instruction set.
TEST(PlanExplanation, ListsTheCandidatesOfEachStepWithEstimates) {
  EXPECT_EQ(explanation_of(R"(graph g(%x: f32[4,8,32], %y: f32[4,32,32]) {
  @w: f32[32,32]
  %1 = matmul(%x, %y) : f32[4,8,32]
  %2, %3 = sort(%1) : f32[4,8,32], i64[4,8,32]
  %4 = linear(%2, @w) : f32[4,8,32]
  return %4
})"),
            R"(plan g
      0 matmul -> f32[4,8,32]
        batched gemm                         2.03 us  65.5 KFLOP  24.0 KiB  4 of 8x32x32
      > typed product                        1.13 us  65.5 KFLOP  24.0 KiB  4 of 8x32x32  (the least estimate)
        reference                            79.8 us  65.5 KFLOP  24.0 KiB
    1-2 sort -> f32[4,8,32], i64[4,8,32]
      > sort                                 6.79 us  16.0 KiB  256x4x1  scratch 1.06 KiB  (the least estimate)
        reference                            10.2 us  16.0 KiB
    3-4 linear -> f32[4,8,32]
        batched gemm                         2.19 us  65.5 KFLOP  12.0 KiB  4 of 8x32x32  scratch 4.00 KiB
      > gemm                                 1.26 us  65.5 KFLOP  12.0 KiB  32x32x32  packed weights 4.00 KiB  (the least estimate)
        packing gemm                          1.3 us  65.5 KFLOP  12.0 KiB  32x32x32  scratch 4.00 KiB
        reference                            73.7 us  65.5 KFLOP  12.0 KiB
)");
}

TEST(PlanExplanation, ListsThePartsOfASplitGroupBehindIt) {
  const auto graph = graph_of(R"(graph g(%x: f32[8]) {
  %1 = fused { sin(%x); exp } : f32[8]
  %2 = reshape(%1, shape=[2,4]) : f32[2,4]
  return %2
})");
  const auto split = [](const Group&, std::span<const CandidateInfo> candidates) {
    return Decision{candidates.back().splits_before > 0 ? candidates.size() - 1 : 0, "measured"};
  };
  std::istringstream lines(explanation(*Session(graph, {.choose = split}).plan_for(inputs_of(*graph, {}))));
  std::vector<std::string> begins;
  for (std::string line; std::getline(lines, line);) begins.push_back(line.substr(0, 25));
  EXPECT_EQ(begins, (std::vector<std::string>{"plan g", "    0-1 sin+exp -> f32[8]",
                                              "        loop             ", "      > split before exp ",
                                              "            0 sin -> f32[", "            > loop       ",
                                              "              reference  ", "            1 exp -> f32[",
                                              "            > loop       ", "              reference  "}));
}

TEST(PlanExplanation, ListsThoseOfStages) {
  EXPECT_EQ(explanation_of(R"(graph g(%x: f32[2,2]) {
  %1 = abs(%x) : f32[2,2]
  %2 = greater(%1, 0.0) : bool[2,2]
  %3 = nonzero(%2, count=?0) : i64[?0,2]
  %4 = add(%3, 1) : i64[?0,2]
  return %4
})"),
            R"(plan g
      0 stage: 2 nodes
      plan g
            0 abs -> f32[2,2]
            > loop                                  0.2 us  4 FLOP  32 B  4x1x1  (the least estimate)
              reference                            2.02 us  4 FLOP  32 B
            1 greater -> bool[2,2]
            > loop                                  0.2 us  4 FLOP  24 B  4x1x1  (the least estimate)
              reference                            2.02 us  4 FLOP  24 B
      1 nonzero
      2 stage: 1 node
      plan g
            0 add -> i64[4,2]
            > loop                                0.201 us  8 FLOP  136 B  8x1x1  (the least estimate)
              reference                            2.08 us  8 FLOP  136 B
)");
}

}  // namespace
}  // namespace tenon::testing
