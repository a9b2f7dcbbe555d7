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

TEST(PlanExplanation, ListsTheCandidatesOfEachStepWithEstimates) {
  EXPECT_EQ(explanation_of(R"(graph g(%x: f32[4,8,8], %y: f32[4,8,8]) {
  @w: f32[8,8]
  %1 = matmul(%x, %y) : f32[4,8,8]
  %2, %3 = sort(%1) : f32[4,8,8], i64[4,8,8]
  %4 = linear(%2, @w) : f32[4,8,8]
  return %4
})"),
            R"(plan g
      0 matmul -> f32[4,8,8]
      > batched gemm                        0.892 us  4.10 KFLOP  3.00 KiB  4 of 8x8x8  scratch 1.00 KiB  (the least estimate)
        reference                            7.63 us  4.10 KFLOP  3.00 KiB
    1-2 sort -> f32[4,8,8], i64[4,8,8]
      > sort                                    2 us  4.00 KiB  64x4x1  scratch 1.06 KiB  (the least estimate)
        reference                            4.05 us  4.00 KiB
    3-4 linear -> f32[4,8,8]
        batched gemm                          1.1 us  4.10 KFLOP  2.25 KiB  4 of 8x8x8  scratch 1.00 KiB
      > gemm                                0.484 us  4.10 KFLOP  2.25 KiB  32x8x8  packed weights 512 B  (the least estimate)
        packing gemm                        0.487 us  4.10 KFLOP  2.25 KiB  32x8x8  scratch 1.00 KiB
        reference                            7.25 us  4.10 KFLOP  2.25 KiB
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
      1 nonzero: reference
      2 stage: 1 node
      plan g
            0 add -> i64[4,2]
            > loop                                0.201 us  8 FLOP  136 B  8x1x1  (the least estimate)
              reference                            2.08 us  8 FLOP  136 B
)");
}

}  // namespace
}  // namespace tenon::testing
