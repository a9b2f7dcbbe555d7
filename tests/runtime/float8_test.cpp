// 8-bit floats: every device casts, moves, compares and multiplies them as the reference does, and weights of
// theirs stay small.
#include <fmt/format.h>

#include "ir/print.h"
#include "runtime/devices.h"
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

constexpr const char* types[] = {"f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz"};

// `text` with each type in place of T!.
// A GPU's kernels are templates of the type: one is tried here, and each by the cases of loops.
void expect_same_of_each_type(std::string_view text, double tolerance = 0) {
  const bool is_gpu = default_device().name != "cpu" && default_device().name != "far";
  for (const std::string type : std::span(types).first(is_gpu ? 1 : std::size(types))) {
    SCOPED_TRACE(type);
    std::string own(text);
    for (std::size_t at = 0; (at = own.find("T!", at)) != std::string::npos; at += type.size())
      own.replace(at, 2, type);
    const auto graph = graph_of(own);
    EXPECT_EQ(print(*parse(print(*graph))), print(*graph));
    expect_same_on(own, inputs_of(*graph, {{"N", 5}}), tolerance);
  }
}

TEST(Float8, Casts) {
  expect_same_of_each_type(R"(graph g(%x: f32[N,33], %h: f16[N,33], %i: i32[N,33]) {
  %1 = cast(%x, to=T!) : T![N,33]
  %2 = cast(%h, to=T!) : T![N,33]
  %3 = cast(%i, to=T!) : T![N,33]
  %4 = cast(%1) : f32[N,33]
  %5 = cast(%2, to=bf16) : bf16[N,33]
  %6 = cast(%3, to=i64) : i64[N,33]
  %7 = cast(%1, to=bool) : bool[N,33]
  %8 = bitcast(%2, to=u8) : u8[N,33]
  return %1, %2, %3, %4, %5, %6, %7, %8
}
)");
}

TEST(Float8, Moves) {
  expect_same_of_each_type(R"(graph g(%x: T![N,12], %i: i64[3]) {
  @w : T![4,12]
  %1 = concat(%x, @w) : T![4+N,12]
  %2 = permute(%1, axes=[1,0]) : T![12,4+N]
  %3 = reshape(%2, shape=[3,4,4+N]) : T![3,4,4+N]
  %4 = slice(%1, axis=1, start=1, end=9, step=2) : T![4+N,4]
  %5 = index_select(@w, %i) : T![3,12]
  %6 = pad(%x, pads=[0,1,0,2]) : T![N,15]
  %7 = flip(%x, axes=[1]) : T![N,12]
  return %1, %2, %3, %4, %5, %6, %7
}
)");
}

TEST(Float8, PointwiseOperatorsRoundToTheType) {
  expect_same_of_each_type(R"(graph g(%x: T![N,40], %y: T![N,40], %c: bool[N,1]) {
  %1 = mul(%x, %y) : T![N,40]
  %2 = abs(%x) : T![N,40]
  %3 = equal(%x, %1) : bool[N,40]
  %4 = isnan(%x) : bool[N,40]
  %5 = where(%c, %x, %y) : T![N,40]
  %6 = fused { mul(%x, %y); mul(_, %y); cast } : f32[N,40]
  return %1, %2, %3, %4, %5, %6
}
)");
}

TEST(Float8, Products) {
  // One rounding of e5m2 is an eighth.
  expect_same_of_each_type(R"(graph g(%x: T![N,48], %y: f32[N,48], %z: T![48,20]) {
  @w : T![24,48]
  %1 = linear(%x, @w) : T![N,24]
  %2 = matmul(%x, %z) : T![N,20]
  return %1, %2
}
)",
                           0.126);
  expect_same_of_each_type(
      R"(graph g(%x: T![N,48], %y: f32[N,48], %z: T![48,20], %a: f32[N,1], %b: f32[1,20], %i: f32[N,8,6,6]) {
  @w : T![24,48]
  @k : T![6,8,3,3]
  %1 = cast(%x) : f32[N,48]
  %2 = cast(@w) : f32[24,48]
  %3 = cast(%z) : f32[48,20]
  %4 = linear(%1, %2) : f32[N,24]
  %5 = linear(%y, %2) : f32[N,24]
  %6 = matmul(%1, %3) : f32[N,20]
  %7 = mul(%6, %a) : f32[N,20]
  %8 = mul(%7, %b) : f32[N,20]
  %9 = cast(%8, to=bf16) : bf16[N,20]
  %10 = cast(@k) : f32[6,8,3,3]
  %11 = conv(%i, %10, pad=1) : f32[N,6,6,6]
  return %4, %5, %9, %11
}
)",
      4e-3);
}

TEST(Float8, AWeightIsPackedAsFloat16AndReadWhereItLies) {
  for (const std::string type : types)
    for (const char* node : {"linear(%x, %1)", "conv(%x, %1)"}) {
      const bool is_conv = std::string_view(node).starts_with("conv");
      const char *x = is_conv ? "[1,64,5,5]" : "[3,64]", *w = is_conv ? "[64,64,1,1]" : "[64,64]";
      const auto graph = graph_of(
          fmt::format("graph g(%x: f32{1}) {{\n  @w : {0}{2}\n  %1 = cast(@w) : f32{2}\n  %2 = {3} : f32{1}\n"
                      "  return %2\n}}\n",
                      type, x, w, node));
      SCOPED_TRACE(print(*graph));
      Session session(graph, {.device = &cpu_device()});
      const auto inputs = inputs_of(*graph, {});
      expect_close(session.run(inputs)[0], evaluate(*graph, inputs)[0]);
      EXPECT_EQ(session.packed_bytes(), 64 * 64 * 2);
      const auto plan = session.plan_for(inputs);
      for (const auto& step : plan->steps) EXPECT_NE(step->info.kind, StepKind::reference) << plan->text();
    }
}

}  // namespace
}  // namespace tenon::testing
