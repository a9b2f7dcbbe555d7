// If and loop as plans: the same numbers as the interpreter, branches on sizes taken while planning, and
// no allocation in memory of their own.
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

constexpr const char* choose = R"(graph choose(%go: bool[], %x: f32[N,4]) {
  @w : f32[4,4]
  @b : f32[4]
  %1 = relu(%x) : f32[N,4]
  %2, %3 = if(%go, %1, %x) (%a: f32[N,4], %u: f32[N,4]) {
    %4 = linear(%a, @w, @b) : f32[N,4]
    %5 = softmax(%4, axis=1) : f32[N,4]
    return %5, %u
  } (%c: f32[N,4], %d: f32[N,4]) {
    %6 = mul(%c, %d) : f32[N,4]
    return %c, %6
  } : f32[N,4], f32[N,4]
  %7 = permute(%2, axes=[1,0]) : f32[4,N]
  %8 = add(%3, 1.0) : f32[N,4]
  return %7, %8, %2
}
)";

TEST(PlanControl, ABranchRuns) { expect_same_as_reference(choose, {{{"N", 1}}, {{"N", 5}}}); }

constexpr const char* recurrent = R"(graph recurrent(%x: f32[T,N,4], %h: f32[N,4]) {
  @w : f32[4,4]
  %s = add(%h, %h) : f32[N,4]
  %1, %2 = loop(true:bool, %s, %x, carried=1, limit=T) (%i: i64[], %a: f32[N,4], %rows: f32[T,N,4]) {
    %3 = index_select(%rows, %i) : f32[N,4]
    %4 = linear(%a, @w) : f32[N,4]
    %5 = add(%3, %4) : f32[N,4]
    %6 = tanh(%5) : f32[N,4]
    return true:bool, %6, %6
  } : f32[N,4], f32[T,N,4]
  %7 = permute(%2, axes=[1,0,2]) : f32[N,T,4]
  return %1, %7
}
)";

TEST(PlanControl, ALoopCarriesAndStacks) {
  expect_same_as_reference(
      recurrent, {{{"T", 0}, {"N", 2}}, {{"T", 1}, {"N", 2}}, {{"T", 2}, {"N", 1}}, {{"T", 7}, {"N", 3}}});
}

constexpr const char* swapping = R"(graph swapping(%x: f32[3], %y: f32[3]) {
  %1, %2, %3 = loop(true:bool, %x, %y, 0:i64, carried=3) (%i: i64[], %a: f32[3], %b: f32[3], %n: i64[]) {
    %4 = add(%n, 2) : i64[]
    %5 = less(%4, 9) : bool[]
    return %5, %b, %a, %4
  } : f32[3], f32[3], i64[]
  return %1, %2, %3
}
)";

TEST(PlanControl, CarriedValuesMayChangePlaces) { expect_same_as_reference(swapping); }

constexpr const char* nested = R"(graph nested(%x: f32[4]) {
  %1, %2 = loop(true:bool, %x, carried=1, limit=6) (%i: i64[], %a: f32[4]) {
    %3 = sum(%a, axes=0) : f32[]
    %4 = less(%3, 2.0) : bool[]
    %5 = if(%4, %a, %i) (%u: f32[4], %k: i64[]) {
      %6 = cast(%k, to=f32) : f32[]
      %7 = add(%u, %6) : f32[4]
      return %7
    } (%v: f32[4], %k2: i64[]) {
      %8 = loop(true:bool, %v, carried=1, limit=3) (%j: i64[], %w: f32[4]) {
        %9 = mul(%w, 0.5) : f32[4]
        return true:bool, %9
      } : f32[4]
      return %8
    } : f32[4]
    return true:bool, %5, %3
  } : f32[4], f32[6]
  return %1, %2
}
)";

TEST(PlanControl, RegionsNest) { expect_same_as_reference(nested); }

TEST(PlanControl, TheTextShowsTheStepsInside) {
  const std::string text = plan_of(nested)->text();
  EXPECT_NE(text.find("[branch] if"), std::string::npos) << text;
  EXPECT_NE(text.find("[steps 6] loop"), std::string::npos) << text;
  EXPECT_NE(text.find("[steps 3] loop"), std::string::npos) << text;
}

constexpr const char* on_size = R"(graph on_size(%x: f32[N]) {
  %1 = dim_value(value=N) : i64[]
  %2 = less(3, %1) : bool[]
  %3 = if(%2, %x) (%a: f32[N]) {
    %4 = exp(%a) : f32[N]
    return %4
  } (%b: f32[N]) {
    return %b
  } : f32[N]
  return %3
}
)";

TEST(PlanControl, ABranchOnASizeIsTakenWhilePlanning) {
  expect_same_as_reference(on_size, {{{"N", 3}}, {{"N", 4}}});
  EXPECT_EQ(kernels_of(*plan_of(on_size, {{"N", 4}})), std::vector<std::string>{"loop"});
  EXPECT_EQ(kernels_of(*plan_of(on_size, {{"N", 3}})), std::vector<std::string>{"copy"});
}

constexpr const char* checked = R"(graph checked(%x: f32[2], %ok: bool[]) {
  check(%ok, message="x must be sorted")  # net
  %1 = neg(%x) : f32[2]
  return %1
}
)";

TEST(PlanControl, ACheckStopsTheRun) {
  const auto graph = graph_of(checked);
  Session session(graph);
  const auto run = [&](bool ok) {
    return session.run(std::vector{Tensor::of(DType::f32, {2}, {1.0, 2.0}),
                                   Tensor::scalar(DType::boolean, std::int64_t{ok})});
  };
  EXPECT_EQ(run(true)[0].get_double(std::vector<std::int64_t>{1}), -2);
  EXPECT_THROW(run(false), Error);
}

constexpr const char* check_in_a_branch = R"(graph check_in_a_branch(%x: f32[N], %go: bool[]) {
  %1 = if(%go, %x) (%a: f32[N]) {
    %2 = dim_value(value=N) : i64[]
    %3 = less(%2, 4) : bool[]
    check(%3, message="too long")
    return %a
  } (%b: f32[N]) {
    %4 = neg(%b) : f32[N]
    return %4
  } : f32[N]
  return %1
}
)";

TEST(PlanControl, ACheckOnASizeFailsWhereItIsReached) {
  const auto graph = graph_of(check_in_a_branch);
  Session session(graph);
  const auto run = [&](std::int64_t n, bool go) {
    return session.run(
        std::vector{Tensor::zeros(DType::f32, {n}), Tensor::scalar(DType::boolean, std::int64_t{go})});
  };
  EXPECT_NO_THROW(run(3, true));
  EXPECT_NO_THROW(run(4, false)) << "the branch is not taken";
  EXPECT_THROW(run(4, true), Error);
}

}  // namespace
}  // namespace tenon::testing
