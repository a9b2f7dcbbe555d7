// Sizes that nodes give while the graph runs: plans in stages give the interpreter's numbers.
#include "base/error.h"
#include "ir/clone.h"
#include "ir/data_size.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "runtime/planner.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

constexpr const char* rows_above_zero = R"(graph rows(%x: f32[N,4], %y: f32[N,4]) {
  @w : f32[4,4]
  %1 = add(%x, %y) : f32[N,4]
  %2 = sum(%1, axes=1) : f32[N]
  %3 = greater(%2, 0.0) : bool[N]
  %4 = nonzero(%3, count=?0) : i64[?0,1]
  %5 = reshape(%4, shape=?0) : i64[?0]
  %6 = index_select(%1, %5) : f32[?0,4]
  %7 = linear(%6, @w) : f32[?0,4]
  %8 = relu(%7) : f32[?0,4]
  %9 = index_add(%x, %5, %8) : f32[N,4]
  return %8, %9, %4, %x
}
)";

TEST(Stages, TextFormRoundTrips) {
  const auto graph = graph_of(rows_above_zero);
  verify(*graph);
  EXPECT_EQ(print(*graph), rows_above_zero);
  EXPECT_TRUE(gives_sizes(graph->body()));
}

TEST(Stages, RunsWithTheSizesOfTheData) {
  expect_same_as_reference(rows_above_zero, {{{"N", 1}}, {{"N", 2}}, {{"N", 7}}, {{"N", 40}}});
}

// One number gives a size that no operand has; the second size depends on the first one's values.
constexpr const char* two_sizes = R"(graph two(%n: i64[], %x: f32[3]) {
  %1 = count_up(%n, count=?0) : i64[?0]
  %2 = full(shape=[?0,3], value=2.0) : f32[?0,3]
  %3 = mul(%2, %x) : f32[?0,3]
  %4 = greater(%3, 0.5) : bool[?0,3]
  %5 = nonzero(%4, count=?1) : i64[?1,2]
  %6 = repeat_each(%1, count=?2) : i64[?2]
  %7 = dim_value(value=?0*?1+?2) : i64[]
  return %5, %7, %3
}
)";

TEST(Stages, SizesBuildOnSizes) {
  const auto graph = graph_of(two_sizes);
  Session session(graph);
  for (const std::int64_t n : {0, 1, 3, 0, 5}) {
    const std::vector inputs = {Tensor::scalar(DType::i64, n),
                                Tensor::of<double>(DType::f32, {3}, {1.0, -1.0, 0.5})};
    const auto got = session.run(inputs), expected = evaluate(*graph, inputs);
    for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i]);
    EXPECT_EQ(got[2].shape(), (Index{n, 3}));
  }
}

constexpr const char* in_a_branch = R"(graph branch(%go: bool[], %x: f32[N]) {
  %1 = greater(%x, 0.0) : bool[N]
  %2 = if(%go, %x, %1) (%a: f32[N], %m: bool[N]) {
    %3 = nonzero(%m, count=?0) : i64[?0,1]
    %4 = reshape(%3, shape=?0) : i64[?0]
    %5 = index_select(%a, %4) : f32[?0]
    %6 = sum(%5, axes=0) : f32[]
    return %6
  } (%b: f32[N], %k: bool[N]) {
    %7 = sum(%b, axes=0) : f32[]
    return %7
  } : f32[]
  %8 = add(%2, 1.0) : f32[]
  return %8
}
)";

TEST(Stages, SizesInsideARegion) { expect_same_as_reference(in_a_branch, {{{"N", 4}}, {{"N", 9}}}); }

TEST(Stages, ANumberBelowZeroIsNoSize) {
  Session session(
      graph_of("graph g(%n: i64[]) {\n  %1 = count_up(%n, count=?0) : i64[?0]\n  return %1\n}\n"));
  try {
    session.run(std::vector{Tensor::scalar(DType::i64, std::int64_t{-2})});
    FAIL();
  } catch (const Error& e) { EXPECT_STREQ(e.message().c_str(), "count_up: -2 where a size is needed"); }
}

TEST(Stages, OnePlanWhenTheSizesAreKnownBefore) {
  const auto graph = graph_of(rows_above_zero);
  const auto inputs = inputs_of(*graph, {{"N", 12}});
  OpenDevice device(default_device(), 1);
  const auto plan = Planner(specialize(*graph, bind_all(*graph, inputs)), device).plan();
  EXPECT_FALSE(plan->takes_values());
  EXPECT_EQ(plan->outputs[0].shape[0], evaluate(*graph, inputs)[0].shape()[0]);
}

TEST(Stages, MemoryOfAnotherSizeIsRefused) {
  const auto graph = graph_of(rows_above_zero);
  const auto inputs = inputs_of(*graph, {{"N", 12}});
  Session session(graph);
  auto outputs = session.run(inputs);
  session.run_into(inputs, outputs);
  outputs[0] = Tensor::empty(DType::f32, {outputs[0].shape()[0] + 1, 4});
  EXPECT_THROW(session.run_into(inputs, outputs), Error);
}

TEST(Stages, AGraphMustGiveASizeBeforeItIsNeeded) {
  const auto graph = graph_of("graph g(%x: f32[3]) {\n  %1 = full(shape=?0) : f32[?0]\n  return %1\n}\n");
  EXPECT_THROW(verify(*graph), InternalError);
}

// What a branch gives is as large as its data say; both results have the one new size.
constexpr const char* either = R"(graph either(%x: f32[N], %go: bool[]) {
  %5, %6 = if(%go, %x, sizes=[?1,?1], at=[0,0,1,0]) (%a: f32[N]) {
    %1 = greater(%a, 0.0) : bool[N]
    %2 = nonzero(%1, count=?0) : i64[?0,1]
    %3 = reshape(%2, shape=?0) : i64[?0]
    %4 = index_select(%a, %3) : f32[?0]
    return %4, %3
  } (%b: f32[N]) {
    %1 = slice(%b, start=0, end=1) : f32[1]
    %2 = full(shape=1, value=0.0, dtype=i64) : i64[1]
    return %1, %2
  } : f32[?1], i64[?1]
  %7 = cast(%6, to=f32) : f32[?1]
  %8 = add(%5, %7) : f32[?1]
  return %8
}
)";

TEST(Stages, AnIfGivesTheSizesInWhichItsBranchesDiffer) {
  const auto graph = graph_of(either);
  verify(*graph);
  Session session(graph);
  for (const bool go : {true, false}) {
    const std::vector inputs = {Tensor::of<double>(DType::f32, {4}, {1.0, -2.0, 3.0, 4.0}),
                                Tensor::scalar(DType::boolean, std::int64_t{go})};
    const auto got = session.run(inputs), expected = evaluate(*graph, inputs);
    expect_close(got[0], expected[0]);
    EXPECT_EQ(got[0].shape(), (Index{go ? 3 : 1}));
  }
}

// Where the host reads the device's memory; elsewhere see counted_sizes_test.cpp.
TEST(Stages, NodesWithRegionsAreProgramsAndOtherGivingNodesRunAKernelOrTheReference) {
  const auto kinds = [](const char* text, const Bindings& sizes) {
    const auto graph = graph_of(text);
    std::vector<StepKind> found;
    Session session(graph);
    const auto plan = session.plan_for(inputs_of(*graph, sizes));
    for (const auto& step : plan->steps)
      if (step->info.kind != StepKind::copy) found.push_back(step->info.kind);  // to and from a device
    return found;
  };
  using enum StepKind;
  EXPECT_EQ(kinds(either, {{"N", 4}}), (std::vector{program, program}));
  const auto rows = kinds(rows_above_zero, {{"N", 12}});
  EXPECT_EQ(std::count(rows.begin(), rows.end(), kernel), default_device().shares_memory ? 1 : 0);
  const auto counts = kinds(two_sizes, {});
  EXPECT_EQ(std::count(counts.begin(), counts.end(), reference), default_device().shares_memory ? 1 : 0);
}

// Doubles x until its sum reaches 100: x grows by one in each step, and the sums are kept.
constexpr const char* growing = R"(graph growing(%x: f32[N]) {
  %5, %6 = loop(true:bool, %x, carried=1, sizes=[?1,?2], at=[0,0,1,0], step_sizes=?0) (%i: i64[], %a: f32[?0]) {
    %1 = sum(%a, axes=0) : f32[]
    %2 = reshape(%1, shape=1) : f32[1]
    %3 = concat(%a, %2) : f32[?0+1]
    %4 = less(%1, 100.0) : bool[]
    return %4, %3, %1
  } : f32[?1], f32[?2]
  return %5, %6
}
)";

TEST(Stages, ALoopGivesTheSizesThatItsStepsChange) {
  const auto graph = graph_of(growing);
  verify(*graph);
  Session session(graph);
  for (const double first : {1.0, 40.0, 200.0}) {
    const std::vector inputs = {Tensor::of<double>(DType::f32, {2}, {first, 1.0})};
    const auto got = session.run(inputs), expected = evaluate(*graph, inputs);
    for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i]);
    EXPECT_EQ(got[0].shape()[0], got[1].shape()[0] + 2);
  }
}

TEST(Stages, SizesAreGivenWhereTheyAre) {
  for (const char* wrong : {"sizes=?1, at=[2,0]", "sizes=?1, at=[0,1]", "sizes=?1", "sizes=N, at=[0,0]"}) {
    const std::string text = fmt::format(
        "graph g(%x: f32[N], %go: bool[]) {{\n  %1 = if(%go, %x, {}) (%a: f32[N]) {{ return %a }} (%b: "
        "f32[N]) {{ "
        "return %b }} : f32[?1]\n  return %1\n}}\n",
        wrong);
    EXPECT_THROW(graph_of(text.c_str()), Error) << wrong;
  }
}

}  // namespace
}  // namespace tenon::testing
