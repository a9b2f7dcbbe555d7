// A session computes what the reference interpreter computes, for every signature, from any thread.
#include <thread>

#include "tests/runtime/graphs.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

TEST(Session, RunsConvolutionNets) {
  expect_same_as_reference(residual_net, {{{"N", 1}}, {{"N", 3}}});
  expect_same_as_reference(u_net, {{{"N", 1}}, {{"N", 2}}});
}

TEST(Session, RunsTransformers) {
  expect_same_as_reference(transformer, {{{"N", 1}, {"seq", 5}}, {{"N", 2}, {"seq", 17}}});
}

TEST(Session, RunsProductsOfAnyStrides) {
  expect_same_as_reference(R"(graph g(%a: f32[2,3,5,7], %b: f32[3,7,6], %c: f32[5,6]) {
  %1 = matmul(%a, %b) : f32[2,3,5,6]
  %2 = permute(%1, axes=[0,1,3,2]) : f32[2,3,6,5]
  %3 = matmul(%2, %c) : f32[2,3,6,6]
  %4 = permute(%b, axes=[0,2,1]) : f32[3,6,7]
  %5 = fused matmul(%3, %4) { mul(_, 2.0); relu } : f32[2,3,6,7]
  return %5
}
)");
}

TEST(Session, AddsVectorsToAProductOfOneRow) {
  expect_same_as_reference(R"(graph g(%x: f32[N,3], %w: f32[3,5], %t: f32[5,3], %v: f32[5], %y: f32[N,5]) {
  %1 = fused matmul(%x, %w) { add(_, %v); relu } : f32[N,5]
  %2 = fused linear(%x, %t, %v) { add(_, %v) } : f32[N,5]
  %3 = fused matmul(%x, %w) { add(_, %v); add(_, %y) } : f32[N,5]
  return %1, %2, %3
}
)",
                           {{{"N", 1}}, {{"N", 2}}});
}

TEST(Session, GivesRowsWithoutKeysWhatIsAskedFor) {
  expect_same_as_reference(
      R"(graph g(%q: f32[N,2,3,8], %k: f32[N,2,5,8], %v: f32[N,2,5,8], %x: bool[N,1,3,5]) {
  %1 = logical_and(%x, false) : bool[N,1,3,5]
  %2 = attention(%q, %k, %v, %1, nan_rows=true) : f32[N,2,3,8]
  %3 = attention(%q, %k, %v, %1) : f32[N,2,3,8]
  return %2, %3
}
)",
      {{{"N", 1}}, {{"N", 2}}});
}

TEST(Session, OrdersBools) {
  expect_same_as_reference(R"(graph g(%b: bool[N,4]) {
  %1 = amax(%b, axes=[1]) : bool[N]
  %2 = amin(%b, axes=[0]) : bool[4]
  %3 = argmax(%b, axis=1) : i64[N]
  return %1, %2, %3
}
)",
                           {{{"N", 1}}, {{"N", 3}}});
}

TEST(Session, ComputesNothingWhereThereAreNoElements) {
  expect_same_as_reference(R"(graph g(%x: f32[N,M]) {
  %1 = softmax(%x, axis=1) : f32[N,M]
  %2 = layer_norm(%1) : f32[N,M]
  return %2
}
)",
                           {{{"N", 3}, {"M", 0}}, {{"N", 0}, {"M", 3}}});
}

TEST(Session, RunsReductionsOverAnyAxes) {
  expect_same_as_reference(R"(graph g(%x: f32[N,6,5]) {
  %1 = sum(%x, axes=[0,2]) : f32[6]
  %2 = amax(%x, axes=[1], keepdim=true) : f32[N,1,5]
  %3 = sub(%x, %2) : f32[N,6,5]
  %4 = softmax(%3, axis=1) : f32[N,6,5]
  %5 = argmax(%4, axis=2) : i64[N,6]
  %6 = variance(%x, axes=[1,2]) : f32[N]
  %7 = logsumexp(%x, axes=[0]) : f32[6,5]
  return %1, %4, %5, %6, %7
}
)",
                           {{{"N", 1}}, {{"N", 4}}});
}

// Which ones there are follows from the definitions.
TEST(Session, RunsEveryReductionOfEveryDtypeAsALoop) {
  int seen = 0;
  for (const OpInfo* info : all_ops()) {
    if (!info->reduction) continue;
    const bool has_axis = std::any_of(info->fields.begin(), info->fields.end(),
                                      [](const FieldInfo& f) { return f.name == "axis"; });
    const std::string axes = has_axis ? "axis=1" : "axes=[1]";
    for (const std::string_view dtype : {"f16", "f32", "f64", "i32", "i64", "bool"}) {
      const Op op = info->make().with(std::vector<std::pair<std::string, Attr>>{
          {has_axis ? "axis" : "axes", has_axis ? Attr(std::int64_t{1}) : Attr(Attr::List{Attr(1)})}});
      std::string type;
      try {
        type = op.infer(std::vector{Type{*dtype_from_name(dtype), {5, 9}}})[0].str();
      } catch (const Error&) { continue; }  // sums of bools, means of integers
      ++seen;
      SCOPED_TRACE(fmt::format("{} of {}", info->name, dtype));
      const std::string text =
          fmt::format("graph g(%x: {}[5,9]) {{\n  %1 = {}(%x, {}) : {}\n  return %1\n}}\n", dtype, info->name,
                      axes, type);
      expect_same_as_reference(text);
      EXPECT_EQ(kernels_of(*plan_of(text)), std::vector<std::string>{"row loop"});
    }
  }
  EXPECT_GT(seen, 30);
}

TEST(Session, RunsNormalisations) {
  expect_same_as_reference(R"(graph g(%x: f32[N,8,4,4], %w: f32[8], %b: f32[8]) {
  %1 = group_norm(%x, %w, %b, groups=2) : f32[N,8,4,4]
  %2 = reshape(%1, shape=[N,8,16]) : f32[N,8,16]
  %3 = permute(%2, axes=[0,2,1]) : f32[N,16,8]
  %4 = rms_norm(%3, %w) : f32[N,16,8]
  %5 = log_softmax(%4, axis=2) : f32[N,16,8]
  return %5
}
)",
                           {{{"N", 1}}, {{"N", 3}}});
}

TEST(Session, RunsEveryDtypeOfPointwiseOperators) {
  expect_same_as_reference(R"(graph g(%x: f16[N,4], %i: i32[N,4], %d: f64[4], %b: bool[N,1]) {
  %1 = mul(%x, %x) : f16[N,4]
  %2 = add(%i, %i) : i32[N,4]
  %3 = cast(%2, to=f64) : f64[N,4]
  %4 = add(%3, %d) : f64[N,4]
  %5 = less(%4, 1.0:f64) : bool[N,4]
  %6 = logical_and(%5, %b) : bool[N,4]
  %7 = where(%6, %1, %x) : f16[N,4]
  return %7, %4, %6
}
)",
                           {{{"N", 3}}});
}

TEST(Session, RunsOperatorsWithoutAKernel) {
  expect_same_as_reference(R"(graph g(%x: f32[N,6], %i: i64[N,6]) {
  %1 = cumsum(%x, axis=1) : f32[N,6]
  %2 = gather(%1, %i, axis=1) : f32[N,6]
  %3, %4 = sort(%2, axis=1) : f32[N,6], i64[N,6]
  %5 = flip(%3, axes=[1]) : f32[N,6]
  %6 = pad(%5, pads=[0,1,0,2]) : f32[N,9]
  return %6, %4
}
)",
                           {{{"N", 2}}, {{"N", 5}}});
}

TEST(Session, GathersAlongAnAxis) {
  for (const std::string_view axis : {"0", "1", "2"})
    for (const std::string_view type : {"f32", "f16", "i64", "bool", "c64"})
      expect_same_as_reference(fmt::format(R"(graph g(%x: {1}[4,5,6], %i: i64[4,3,2]) {{
  %1 = permute(%x, axes=[0,2,1]) : {1}[4,6,5]
  %2 = permute(%i, axes=[0,2,1]) : i64[4,2,3]
  %3 = gather(%1, %2, axis={0}) : {1}[4,2,3]
  return %3
}}
)",
                                           axis, type));
}

// Indices repeated along the rows are a view; every element of its own is not.
TEST(Session, ScattersAlongAnAxis) {
  for (const std::string_view type : {"f32", "f64", "i32", "i64", "f16"})
    for (const std::string_view reduce : {"none", "sum", "prod", "amax", "amin", "mean"})
      for (const std::string_view self : {"", ", include_self=false"})
        expect_same_as_reference(fmt::format(
            R"(graph g(%x: {0}[4,5,6], %s: {0}[9,5,6], %i: i64[9,1,1], %j: i32[5,4,9], %t: {0}[4,5,9]) {{
  %1 = expand(%i, shape=[9,5,6]) : i64[9,5,6]
  %2 = scatter(%x, %1, %s, reduce="{1}"{2}) : {0}[4,5,6]
  %3 = permute(%j, axes=[1,0,2]) : i32[4,5,9]
  %4 = scatter(%x, %3, %t, axis=2, reduce="{1}"{2}) : {0}[4,5,6]
  %5 = scatter(%2, %3, %t, axis=2, reduce="{1}"{2}) : {0}[4,5,6]
  return %4, %5
}}
)",
            type, reduce, self));
}

TEST(Session, LoopsGatherTheirOperands) {
  const std::string text = R"(graph g(%x: f32[N,4,6], %i: i64[N,5], %j: i32[4], %y: f32[4,2], %t: i64[N]) {
  @words : f32[9,8]
  %1 = fused { index_select(@words, %i, axis=0); layer_norm; relu } : f32[N,5,8]
  %2 = fused { index_select(%x, %j, axis=1); exp } : f32[N,4,6]
  %3 = fused { index_select(%x, %j, axis=2); neg } : f32[N,4,4]
  %4 = fused { %4.1 = sub(%t, 3); index(%y, %4.1, axes=0); mul(_, 2.0); sum(_, axes=1) } : f32[N]
  %5 = exp(%x) : f32[N,4,6]
  %6 = fused { %6.1 = index_select(%5, 0:i64, axis=0); add(%6.1, 1.0) } : f32[4,6]
  %7 = exp(%y) : f32[4,2]
  %8 = fused { %8.1 = index_select(%7, %j, axis=0); add(%8.1, %7) } : f32[4,2]
  return %1, %2, %3, %4, %6, %8
}
)";
  expect_same_as_reference(text, {{{"N", 1}}, {{"N", 7}}});
  const auto plan = plan_of(text, {{"N", 2}});
  EXPECT_LE(plan->steps.size(), 8u) << plan->text();  // GPUs join %5 and %7
}

TEST(Session, PadsCropsAndRepeats) {
  expect_same_as_reference(R"(graph g(%x: f32[N,3,4,4]) {
  @w : f32[5,3,1,1]
  %1 = conv(%x, @w) : f32[N,5,4,4]
  %2 = pad(%1, pads=[0,0,1,-1,0,0,2,0], value=0.5) : f32[N,5,7,3]
  %3 = interpolate(%2, output=[14,12]) : f32[N,5,14,12]
  %4 = interpolate(%3, mode="linear", output=[7,6]) : f32[N,5,7,6]
  return %3, %4
}
)",
                           {{{"N", 1}}, {{"N", 2}}});
}

TEST(Session, ReturnsInputsWeightsAndTheSameValueTwice) {
  expect_same_as_reference(R"(graph g(%x: f32[N,2]) {
  @w : f32[3]
  %1 = permute(%x, axes=[1,0]) : f32[2,N]
  %2 = exp(%x) : f32[N,2]
  %3 = relu(%2) : f32[N,2]
  return %x, @w, %1, %2, %2, %3
}
)",
                           {{{"N", 3}}});
}

TEST(Session, ComputesSizesAtPlanTime) {
  const char* text = R"(graph g(%x: f32[N,S]) {
  %1 = iota(size=S) : i64[S]
  %2 = dim_value(value=S) : i64[]
  %3 = sub(%2, %1) : i64[S]
  %4 = cast(%3, to=f32) : f32[S]
  %5 = mul(%x, %4) : f32[N,S]
  return %5
}
)";
  expect_same_as_reference(text, {{{"N", 2}, {"S", 3}}, {{"N", 1}, {"S", 8}}});
  EXPECT_EQ(plan_of(text, {{"N", 2}, {"S", 3}})->steps.size(), 1u);
}

TEST(Session, RunsAtTheSameTimeFromSeveralThreads) {
  const auto graph = graph_of(u_net);
  Session session(graph, {.threads = 2});
  std::vector<std::vector<Tensor>> inputs, expected;
  for (const int n : {1, 2, 3}) {
    inputs.push_back(inputs_of(*graph, {{"N", n}}, 7));
    expected.push_back(evaluate(*graph, inputs.back()));
  }
  std::vector<std::vector<Tensor>> got(6);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < got.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) got[t] = session.run(inputs[t % inputs.size()]);
    });
  for (auto& thread : threads) thread.join();
  for (std::size_t t = 0; t < got.size(); ++t) expect_close(got[t][0], expected[t % expected.size()][0]);
}

TEST(Session, GivesTheSameBitsEveryTime) {
  const auto graph = graph_of(transformer);
  const auto inputs = inputs_of(*graph, {{"N", 2}, {"seq", 9}});
  Session session(graph, {.threads = 2});
  const auto first = session.run(inputs);
  for (int i = 0; i < 3; ++i) {
    const auto again = session.run(inputs);
    EXPECT_EQ(std::memcmp(first[0].bytes(), again[0].bytes(), 2 * 9 * 32 * sizeof(float)), 0);
  }
}

TEST(Session, KeepsThePlansUsedLast) {
  const auto graph = graph_of(u_net);
  Session session(graph, {.max_plans = 2});
  const auto one = inputs_of(*graph, {{"N", 1}}), two = inputs_of(*graph, {{"N", 2}}),
             three = inputs_of(*graph, {{"N", 3}});
  const auto plan = session.plan_for(one);
  EXPECT_EQ(session.plan_for(one), plan);
  session.plan_for(two);
  session.plan_for(one);
  session.plan_for(three);  // in place of the plan for two
  EXPECT_EQ(session.plan_for(one), plan);
}

TEST(Session, SharesPackedWeightsBetweenSignatures) {
  const auto graph = graph_of(transformer);
  Session session(graph);
  session.plan_for(inputs_of(*graph, {{"N", 1}, {"seq", 4}}));
  const std::size_t packed = session.packed_bytes();
  session.plan_for(inputs_of(*graph, {{"N", 2}, {"seq", 7}}));
  EXPECT_EQ(session.packed_bytes(), packed);
}

// Weights of products are then packed while they are used: the same bits.
TEST(Session, ThatRunsOnceKeepsNoPackedWeights) {
  const auto graph = graph_of(transformer);
  Session kept(graph), once(graph, {.runs_once = true});
  const auto inputs = inputs_of(*graph, {{"N", 2}, {"seq", 7}});
  const Tensor expected = kept.run(inputs)[0];
  for (int run = 0; run < 2; ++run) {
    const Tensor got = once.run(inputs)[0];
    ASSERT_EQ(got.type_string(), expected.type_string());
    EXPECT_EQ(
        std::memcmp(got.bytes(), expected.bytes(), static_cast<std::size_t>(got.numel()) * sizeof(float)), 0);
  }
  EXPECT_GT(kept.packed_bytes(), 0u);
  EXPECT_EQ(once.packed_bytes(), 0u);
}

TEST(Session, ProfilesEachStep) {
  const auto graph = graph_of(residual_net);
  Session session(graph);
  const auto inputs = inputs_of(*graph, {{"N", 1}});
  auto outputs = session.run(inputs);
  RunTimes times;
  session.profile_run(inputs, outputs, times);
  EXPECT_EQ(times.steps.size(), session.plan_for(inputs)->steps.size());
}

TEST(Session, RefusesInputsThatDoNotFit) {
  Session session(graph_of(R"(graph g(%x: f32[N,3], %y: f32[N,2*N]) where N in 1..8 "dim 0 of x" {
  %1 = exp(%x) : f32[N,3]
  %2 = exp(%y) : f32[N,2*N]
  return %1, %2
}
)"));
  const auto f = [](Index shape) { return Tensor::zeros(DType::f32, std::move(shape)); };
  expect_refused(session, std::vector{f({2, 3})}, "1 input is given, the graph has 2");
  expect_refused(session, std::vector{f({2, 3}), Tensor::zeros(DType::f64, {2, 4})}, "input y is f64[2,4]");
  expect_refused(session, std::vector{f({2, 4}), f({2, 4})}, "dim 1 is 4, not 3");
  expect_refused(session, std::vector{f({2, 3}), f({2, 5})}, "dim 1 is 5, not 4");
  expect_refused(session, std::vector{f({9, 3}), f({9, 18})}, "the graph allows 1 to 8");
  expect_refused(session, std::vector{f({2, 3, 1}), f({2, 4})}, "rank is 3, not 2");
}

TEST(Session, RefusesIndicesOutOfRange) {
  const auto graph = graph_of(transformer);
  Session session(graph);
  auto inputs = inputs_of(*graph, {{"N", 1}, {"seq", 4}});
  inputs[0].set_int(Index{0, 2}, 11);
  expect_refused(session, inputs, "index 11 is outside of [0, 11)");
}

constexpr const char* gathering_linears = R"(graph g(%e: f32[E,5], %h: f32[4,33], %i: i64[E], %j: i32[E]) {
  @w : f32[33,5]
  @b : f32[33]
  %1 = fused { %1.1 = index_select(%h, %i); linear(%e, @w, @b); add(_, %1.1); relu } : f32[E,33]
  %2 = fused { %2.1 = linear(%e, @w); index(%h, %i, axes=0); add(_, %2.1) } : f32[E,33]
  %3 = permute(%2, axes=[1,0]) : f32[33,E]
  %4 = fused { %4.1 = linear(%e, @w, @b); index_select(%h, %j); add(%4.1, _); sigmoid; mul(_, %1) } : f32[E,33]
  return %1, %3, %4
}
)";

TEST(Session, LinearsAddRowsThatIndicesChoose) {
  expect_same_as_reference(gathering_linears, {{{"E", 0}}, {{"E", 1}}, {{"E", 9}}, {{"E", 100}}});
  const auto plan = plan_of(gathering_linears, {{"E", 9}});
  const std::vector<std::string> kernels = {"gemm+bias+gather+relu", "gemm+gather", "gemm+bias+gather+tile"};
  const std::vector<std::string> got = kernels_of(*plan);
  for (const std::string& kernel : kernels)
    EXPECT_EQ(std::count(got.begin(), got.end(), kernel), 1) << kernel << "\n" << plan->text();
  expect_same_as_reference(R"(graph g(%e: f32[3,7,5], %h: f32[2,4], %i: i64[3,7]) {
  @w : f32[2,5]
  %1 = permute(%h, axes=[1,0]) : f32[4,2]
  %2 = fused { %2.1 = linear(%e, @w); index_select(%1, %i); add(%2.1, _) } : f32[3,7,2]
  return %2
}
)");
}

TEST(Session, RefusesARowOfALinearOutOfRange) {
  const auto graph = graph_of(gathering_linears);
  Session session(graph);
  for (const auto& [input, wrong, range] : {std::tuple<std::size_t, int, const char*>{2, 4, "[0, 4)"},
                                            {2, -1, "[0, 4)"},
                                            {3, 4, "[0, 4)"},
                                            {3, -1, "[0, 4)"}}) {
    auto inputs = inputs_of(*graph, {{"E", 9}});
    inputs[input].set_int(Index{5}, wrong);
    for (int run = 0; run < 2; ++run)
      expect_refused(session, inputs, fmt::format("index {} is outside of {}", wrong, range));
  }
}

TEST(Session, RefusesAScatterOutOfRange) {
  const auto graph = graph_of(R"(graph g(%x: f32[4,6], %i: i64[5,1], %y: f32[5,6]) {
  %1 = expand(%i, shape=[5,6]) : i64[5,6]
  %2 = scatter(%x, %1, %y, reduce="amax") : f32[4,6]
  return %2
}
)");
  Session session(graph);
  for (const int wrong : {-1, 4}) {
    auto inputs = inputs_of(*graph, {});
    inputs[1].set_int(Index{2, 0}, wrong);
    expect_refused(session, inputs, fmt::format("index {} is outside of [0, 4)", wrong));
  }
}

TEST(Session, SumsOfNothingAreComputedWhilePlanning) {
  const auto graph = graph_of(R"(graph g(%x: f32[3,N], %y: f32[N,2], %z: f32[3,2]) {
  %1 = matmul(%x, %y) : f32[3,2]
  %2 = add(%1, %z) : f32[3,2]
  %3 = sum(%x, axes=[1]) : f32[3]
  %4 = prod(%x, axes=[1]) : f32[3]
  return %2, %3, %4
}
)");
  Session session(graph);
  const auto inputs = inputs_of(*graph, {{"N", 0}});
  const auto got = session.run(inputs), expected = evaluate(*graph, inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_close(got[i], expected[i]);
  EXPECT_EQ(got[1].get_double(Index{0}), 0);
  EXPECT_EQ(got[2].get_double(Index{0}), 1);
  for (const auto& step : session.plan_for(inputs)->steps) EXPECT_NE(step->info.kind, StepKind::reference);
}

}  // namespace
}  // namespace tenon::testing
