// A fused group in two parts computes what the whole computes.
#include "runtime/group_split.h"

#include <algorithm>
#include <functional>

#include "ir/ops/control.h"
#include "ir/print.h"
#include "runtime/planner.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

struct Row {
  const char* what;
  const char* graph;
  std::size_t before;
  const char* parts;
};

constexpr Row rows[] = {
    {"an anchor, and what follows it", R"(graph g(%x: f32[1,32,8,8]) {
  @w : f32[32,32,3,3]
  %1 = fused conv(%x, @w, pad=1) { sigmoid; tanh } : f32[1,32,8,8]
  return %1
}
)",
     1, R"(graph g(%x: f32[1,32,8,8]) {
  @w : f32[32,32,3,3]
  %1 = conv(%x, @w, pad=1) : f32[1,32,8,8]
  %2 = fused { sigmoid(%1); tanh } : f32[1,32,8,8]
  return %2
}
)"},
    {"an epilogue of which a part stays", R"(graph g(%x: f32[3,8], %r: f32[3,5]) {
  @w : f32[5,8]
  @b : f32[5]
  %1 = fused linear(%x, @w, @b) { gelu; add(_, %r) } : f32[3,5]
  return %1
}
)",
     2, R"(graph g(%x: f32[3,8], %r: f32[3,5]) {
  @w : f32[5,8]
  @b : f32[5]
  %1 = fused linear(%x, @w, @b) { gelu } : f32[3,5]
  %2 = add(%1, %r) : f32[3,5]
  return %2
}
)"},
    {"a loop", R"(graph g(%x: f32[3,8], %y: f32[8]) {
  %1 = fused { mul(%x, %y); exp; sub(_, %y) } : f32[3,8]
  return %1
}
)",
     2, R"(graph g(%x: f32[3,8], %y: f32[8]) {
  %1 = fused { mul(%x, %y); exp } : f32[3,8]
  %2 = sub(%1, %y) : f32[3,8]
  return %2
}
)"},
    {"a reduction in the middle", R"(graph g(%x: f32[3,8]) {
  %1 = fused { %1.1 = exp(%x); sum(%1.1, axes=1, keepdim=true); div(%1.1, _) } : f32[3,8]
  return %1
}
)",
     2, R"(graph g(%x: f32[3,8]) {
  %1, %2 = fused { %1.1 = exp(%x); %1.2 = sum(%1.1, axes=1, keepdim=true); return %1.1, %1.2 } : f32[3,8], f32[3,1]
  %3 = div(%1, %2) : f32[3,8]
  return %3
}
)"},
    {"several results", R"(graph g(%x: f32[3,8]) {
  %1, %2 = fused { %1.1 = exp(%x); neg(%1.1); %1.3 = tanh(_); return %1.1, %1.3 } : f32[3,8], f32[3,8]
  return %1, %2
}
)",
     1, R"(graph g(%x: f32[3,8]) {
  %1 = exp(%x) : f32[3,8]
  %2 = fused { neg(%1); tanh } : f32[3,8]
  return %1, %2
}
)"},
};

Node& group_of(Graph& graph) {
  for (const auto& node : graph.body().nodes())
    if (node->is<Fused>()) return *node;
  throw error("the graph has no group");
}

std::vector<std::string> names_of(const std::vector<GroupSplit>& splits) {
  std::vector<std::string> names;
  for (const GroupSplit& s : splits) names.push_back(s.name);
  return names;
}

std::vector<GroupSplit> splits_in(const char* text) {
  const auto graph = graph_of(text);
  return splits_of(Group(group_of(*graph)));
}

// Takes the split of this number where a group has it, the least estimate elsewhere.
Chooser split_of(std::size_t number) {
  return [number](const Group& group, std::span<const CandidateInfo> candidates) {
    const std::size_t splits = splits_of(group).size();
    if (number >= splits) return least_estimate(group, candidates);
    return Decision{candidates.size() - splits + number, "a test wants it"};
  };
}

TEST(GroupSplit, MakesTwoGroupsOfOne) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const auto graph = graph_of(row.graph);
    split_group(group_of(*graph), row.before);
    EXPECT_EQ(print(*graph), row.parts);
  }
}

// Each operator computes what it computed: the interpreter's results are equal.
TEST(GroupSplit, ChangesNoValue) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const auto whole = graph_of(row.graph), parts = graph_of(row.graph);
    split_group(group_of(*parts), row.before);
    const auto inputs = inputs_of(*whole, {});
    const auto expected = evaluate(*whole, inputs), got = evaluate(*parts, inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i], 0);
  }
}

TEST(GroupSplit, PlansOfPartsComputeTheSameInMoreSteps) {
  for (const Row& row : rows) {
    const auto graph = graph_of(row.graph);
    const auto inputs = inputs_of(*graph, {});
    const auto expected = evaluate(*graph, inputs);
    const std::size_t splits = splits_of(Group(group_of(*graph))).size();
    for (std::size_t number = 0; number < splits; ++number) {
      Session session(graph, {.choose = split_of(number)});
      const auto plan = session.plan_for(inputs);
      SCOPED_TRACE(row.what + ("\n" + plan->text()));
      const Choice& choice = plan->choices[0];
      EXPECT_GT(choice.candidates[choice.taken].splits_before, 0U);
      EXPECT_GT(choice.steps, 1U);
      EXPECT_LE(choice.first_step + choice.steps, plan->steps.size());
      EXPECT_TRUE(std::all_of(plan->choices.begin() + 1, plan->choices.end(), std::mem_fn(&Choice::is_part)));
      for (int run = 0; run < 2; ++run) {
        const auto got = session.run(inputs);
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i]);
      }
    }
  }
}

// The nodes around a split group are planned once each, in their order.
TEST(GroupSplit, WhatSurroundsItIsPlannedAsItWas) {
  const auto graph = graph_of(R"(graph g(%x: f32[3,8], %y: f32[8,3]) {
  %1 = matmul(%x, %y) : f32[3,3]
  %2 = fused { mul(%1, %1); tanh; sub(_, %1) } : f32[3,3]
  %3 = fused { exp(%2); neg } : f32[3,3]
  %4 = concat(%2, %3, axis=0) : f32[6,3]
  return %4
}
)");
  const auto inputs = inputs_of(*graph, {});
  const auto expected = evaluate(*graph, inputs);
  for (std::size_t number = 0; number < 2; ++number) {
    Session session(graph, {.choose = split_of(number)});
    expect_close(session.run(inputs)[0], expected[0]);
  }
}

TEST(GroupSplit, PlacesBesideProductsAndReductionsComeFirst) {
  EXPECT_EQ(names_of(splits_in(rows[0].graph)),
            (std::vector<std::string>{"split before sigmoid", "split before tanh"}));
  EXPECT_EQ(splits_in(R"(graph g(%x: f32[3,8]) {
  %1 = fused { neg(%x); exp; sum(_, axes=1) } : f32[3]
  return %1
}
)")[0]
                .name,
            "split before sum");
}

TEST(GroupSplit, LessMemoryTrafficComesFirst) {
  const auto splits = splits_in(R"(graph g(%x: f32[3,8]) {
  %1 = fused { exp(%x); sum(_, axes=1); neg; tanh } : f32[3]
  return %1
}
)");
  EXPECT_EQ(names_of(splits),
            (std::vector<std::string>{"split before neg", "split before tanh", "split before sum"}));
  EXPECT_EQ(splits[0].bytes, 2 * 4 * 3);
  EXPECT_EQ(splits[2].bytes, 2 * 4 * 3 * 8);
}

// A result is written by the whole, too; an operand of both parts is read twice.
TEST(GroupSplit, TrafficIsThatOfThePartsAlone) {
  EXPECT_EQ(splits_in(rows[4].graph)[0].bytes, 4 * 3 * 8);
  const auto loop = splits_in(rows[2].graph);
  EXPECT_EQ(loop[0].bytes, 2 * 4 * 3 * 8 + 4 * 8);
}

TEST(GroupSplit, OfSeveralOperatorsOfOneKindTheNumberIsNamed) {
  EXPECT_EQ(names_of(splits_in(R"(graph g(%x: f32[8]) {
  %1 = fused { neg(%x); exp; neg; exp } : f32[8]
  return %1
}
)")),
            (std::vector<std::string>{"split before exp", "split before neg 2", "split before exp 2"}));
}

TEST(GroupSplit, NoEstimateTakesOne) {
  for (const Row& row : rows) {
    const auto plan = plan_of(row.graph);
    for (const Choice& choice : plan->choices) {
      EXPECT_FALSE(choice.splits.empty());
      for (const CandidateInfo& c : choice.candidates) EXPECT_EQ(c.splits_before, 0U);
      for (const CandidateInfo& c : choice.splits)
        EXPECT_GT(c.seconds, choice.candidates[choice.taken].seconds) << row.what << c.kernel;
    }
  }
}

}  // namespace
}  // namespace tenon::testing
