// If and loop: what they compute, which regions fit them, and that their text reads back.
#include "ir/ops/control.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/bind.h"
#include "ir/clone.h"
#include "ir/evaluate.h"
#include "ir/flops.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace tenon {
namespace {

constexpr const char* choose = R"(graph choose(%go: bool[], %x: f32[N]) {
  @w : f32[1]
  %4 = if(%go, %x) (%a: f32[N]) {
    %1 = add(%a, 1.0) : f32[N]
    return %1
  } (%b: f32[N]) {
    %2 = mul(%b, @w) : f32[N]
    %3 = neg(%2) : f32[N]
    return %3
  } : f32[N]
  return %4
}
)";

// Doubles x until its sum reaches 100; counts the steps.
constexpr const char* double_up = R"(graph double_up(%x: f32[2]) {
  %1 = sum(%x, axes=0) : f32[]
  %2 = less(%1, 100.0) : bool[]
  %7, %8 = loop(%2, %x, 0:i64, carried=2) (%i: i64[], %a: f32[2], %n: i64[]) {
    %3 = mul(%a, 2.0) : f32[2]
    %4 = add(%n, 1) : i64[]
    %5 = sum(%3, axes=0) : f32[]
    %6 = less(%5, 100.0) : bool[]
    return %6, %3, %4
  } : f32[2], i64[]
  return %7, %8
}
)";

// Running sums of the rows of x.
constexpr const char* running = R"(graph running(%x: f32[T,2], %s: f32[2]) {
  %4, %5 = loop(true:bool, %s, %x, carried=1, limit=T) (%i: i64[], %a: f32[2], %rows: f32[T,2]) {
    %1 = index_select(%rows, %i) : f32[2]
    %2 = add(%a, %1) : f32[2]
    return true:bool, %2, %2
  } : f32[2], f32[T,2]
  return %4, %5
}
)";

constexpr const char* guarded = R"(graph guarded(%x: f32[2], %ok: bool[]) {
  check(%ok, message="x must be sorted")  # net
  %1 = neg(%x) : f32[2]
  return %1
}
)";

std::unique_ptr<Graph> with_weight(const char* text) {
  auto graph = parse(text);
  for (const auto& w : graph->weights()) graph->set_weight_data(w.get(), Tensor::of(DType::f32, {1}, {3.0}));
  return graph;
}

Tensor vector(std::initializer_list<double> values) {
  return Tensor::of(DType::f32, {static_cast<std::int64_t>(values.size())}, values);
}

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> out;
  for_each_index(t.shape(), [&](std::span<const std::int64_t> i) { out.push_back(t.get_double(i)); });
  return out;
}

TEST(Control, ReadsBackWhatItPrints) {
  for (const char* text : {choose, double_up, running, guarded}) {
    const auto graph = parse(text);
    verify(*graph);
    const std::string once = print(*graph);
    const auto again = parse(once);
    verify(*again);
    EXPECT_EQ(print(*again), once);
    const auto copy = clone(*graph);
    verify(*copy);
    EXPECT_EQ(print(*copy), once);
  }
  EXPECT_EQ(print(*parse(guarded)), guarded);
}

TEST(Control, IfRunsOneRegion) {
  const auto graph = with_weight(choose);
  const auto run = [&](bool go) {
    return numbers(
        evaluate(*graph, std::vector{Tensor::scalar(DType::boolean, std::int64_t{go}), vector({1, -2})})[0]);
  };
  EXPECT_EQ(run(true), (std::vector<double>{2, -1}));
  EXPECT_EQ(run(false), (std::vector<double>{-3, 6}));
}

TEST(Control, ALoopRunsWhileItsConditionHolds) {
  const auto graph = parse(double_up);
  const auto run = [&](std::initializer_list<double> x) { return evaluate(*graph, std::vector{vector(x)}); };
  auto out = run({10, 20});
  EXPECT_EQ(numbers(out[0]), (std::vector<double>{40, 80}));
  EXPECT_EQ(out[1].get_int(), 2);
  out = run({100, 0});
  EXPECT_EQ(numbers(out[0]), (std::vector<double>{100, 0})) << "no step: the operands come out";
  EXPECT_EQ(out[1].get_int(), 0);
}

TEST(Control, ALoopStacksTheSlicesOfItsSteps) {
  const auto graph = parse(running);
  auto out =
      evaluate(*graph, std::vector{Tensor::of(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6}), vector({0, 1})});
  EXPECT_EQ(numbers(out[0]), (std::vector<double>{9, 13}));
  EXPECT_EQ(numbers(out[1]), (std::vector<double>{1, 3, 4, 7, 9, 13}));
  out = evaluate(*graph, std::vector{Tensor::empty(DType::f32, {0, 2}), vector({0, 1})});
  EXPECT_EQ(numbers(out[0]), (std::vector<double>{0, 1}));
  EXPECT_EQ(out[1].type_string(), "f32[0,2]");
}

TEST(Control, ACheckStopsWithItsMessage) {
  const auto graph = parse(guarded);
  const auto run = [&](bool ok) {
    return evaluate(*graph, std::vector{vector({1, 2}), Tensor::scalar(DType::boolean, std::int64_t{ok})});
  };
  EXPECT_EQ(numbers(run(true)[0]), (std::vector<double>{-1, -2}));
  try {
    run(false);
    ADD_FAILURE() << "the check did not stop";
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "check: x must be sorted");
    EXPECT_EQ(e.where(), "net");
  }
}

TEST(Control, SpecialisesInsideRegions) {
  const auto known = specialize(*with_weight(running), {{"T", 3}});
  verify(*known);
  EXPECT_NE(print(*known).find("limit=3"), std::string::npos);
  EXPECT_NE(print(*known).find("%rows: f32[3,2]"), std::string::npos);
}

// Its second branch has no meaning for N = 0; the results are as large as the data say.
constexpr const char* largest = R"(graph largest(%x: f32[N], %empty: bool[]) {
  %5 = if(%empty, %x, sizes=?1, at=[0,0]) (%a: f32[N]) {
    return %a
  } (%b: f32[N]) {
    %1 = amax(%b, axes=0) : f32[]
    %2 = equal(%b, %1) : bool[N]
    %3 = nonzero(%2, count=?0) : i64[?0,1]
    %4 = cast(%3, to=f32) : f32[?0,1]
    %6 = reshape(%4, shape=?0) : f32[?0]
    return %6
  } : f32[?1]
  return %5
}
)";

TEST(Control, ABranchThatDoesNotFitTheSizesIsAnErrorWhenItIsTaken) {
  const auto known = specialize(*parse(largest), {{"N", 0}});
  verify(*known);
  const auto run = [&](bool empty) {
    return evaluate(*known, std::vector{Tensor::empty(DType::f32, {0}),
                                        Tensor::scalar(DType::boolean, std::int64_t{empty})});
  };
  EXPECT_EQ(run(true)[0].type_string(), "f32[0]");
  try {
    run(false);
    ADD_FAILURE() << "the branch has no meaning";
  } catch (const Error& e) { EXPECT_EQ(e.message(), "check: amax: axis 0 of f32[0] is empty"); }
}

TEST(Control, SizesThatANodeGivesMayBeBound) {
  const auto graph = parse(largest);
  const std::vector inputs = {vector({3, 5, 5}), Tensor::scalar(DType::boolean, std::int64_t{0})};
  const auto known = specialize(*graph, bind_all(*graph, inputs));
  verify(*known);
  EXPECT_EQ(known->body().results()[0]->type().str(), "f32[2]");
  EXPECT_EQ(numbers(evaluate(*known, inputs)[0]), (std::vector<double>{1, 2}));
}

TEST(Control, WhatHasASizeThatIsNotKnownCountsAsNone) {
  const auto known = specialize(*parse(largest), {{"N", 3}});
  EXPECT_EQ(flops(*known->body().nodes().front()), 3 + 3) << "amax and equal";
}

TEST(Control, CountsTheSteps) {
  const auto known = specialize(*with_weight(running), {{"T", 5}});
  EXPECT_EQ(flops(*known->body().nodes().front()), 5 * 2);
  const auto branches = specialize(*with_weight(choose), {{"N", 7}});
  EXPECT_EQ(flops(*branches->body().nodes().front()), 2 * 7) << "of the more expensive branch";
}

struct Wrong {
  const char* text;
  const char* message;
};

TEST(Control, SaysWhichRegionDoesNotFit) {
  const Wrong cases[] = {
      {"%1 = if(%x, %x) (%a: f32[2]) { return %a } (%b: f32[2]) { return %b } : f32[2]",
       "if: the condition is f32[2], not bool[]"},
      {"%1 = if(%go, %x) (%a: f32[3]) { return %a } (%b: f32[2]) { return %b } : f32[2]",
       "if: parameter 0 of the region is f32[3], not f32[2]"},
      {"%1 = if(%go, %x) (%a: f32[2]) { return %a } (%b: f32[2]) { return 1:i64 } : f32[2]",
       "if: result 0 is f32[2] in one branch and i64[] in the other"},
      {"%1 = if(%go, %x) (%a: f32[2]) { return %a } (%b: f32[2]) { return } : f32[2]",
       "if: one branch has 1 results, the other 0"},
      {"%1 = if(%go, %x) (%a: f32[2]) { return %x } (%b: f32[2]) { return %b } : f32[2]",
       "%x is not defined above"},
      {"%1 = loop(%go, %x, carried=1) (%i: i64[], %a: f32[2]) { return %a, %a } : f32[2]",
       "loop: the body's first result is f32[2], not bool[]"},
      {"%1 = loop(%go, %x, carried=1) (%i: i64[], %a: f32[2]) { return true:bool, 1:i64 } : f32[2]",
       "loop: carried value 0 after a step is i64[], not f32[2]"},
      {"%1 = loop(%go, %x, carried=2) (%i: i64[], %a: f32[2]) { return true:bool, %a } : f32[2]",
       "loop: 2 values are carried, 1 operands follow the condition"},
      {"%1 = loop(%go, %x) (%i: i64[], %a: f32[2]) { return true:bool, %a } : f32[2]",
       "loop: slices are stacked, but the number of steps has no limit"},
  };
  for (const Wrong& c : cases) {
    try {
      parse("graph g(%go: bool[], %x: f32[2]) {\n  " + std::string(c.text) + "\n  return %1\n}");
      ADD_FAILURE() << "accepted: " << c.text;
    } catch (const Error& e) { EXPECT_NE(e.message().find(c.message), std::string::npos) << e.message(); }
  }
}

TEST(Control, AStackingLoopMustNotStopEarly) {
  const auto graph = parse(
      "graph g(%go: bool[], %x: f32[2]) {\n"
      "  %1 = loop(%go, %x, limit=4) (%i: i64[], %a: f32[2]) { return true:bool, %a } : f32[4,2]\n"
      "  return %1\n}");
  EXPECT_THROW(verify(*graph), InternalError);
}

TEST(Control, AttributesAreSetUntilThereAreOutputs) {
  Graph graph;
  Value* go = graph.body().add_parameter({DType::boolean, {}}, "go");
  Node* node = graph.body().insert_typed(Loop{}, {go, go}, {}, 1);
  node->set_op(Loop{.carried = 1});
  EXPECT_EQ(node->as<Loop>()->carried, 1);
  node->add_outputs({go->type()});
  EXPECT_THROW(node->set_op(Loop{}), InternalError);
}

}  // namespace
}  // namespace tenon
