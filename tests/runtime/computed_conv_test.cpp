// Convolutions by weights that the graph computes give what their references give.
#include "kernels/cpu/row_gemm.h"
#include "runtime/device.h"
#include "tests/runtime/graphs.h"
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

// Where the CPU multiplies pairs, they are packed as they lie, even and odd numbers of channels.
TEST(ComputedConv, OfBfloat16) {
  for (const std::string_view text :
       {R"(graph g(%x: bf16[2,16,7,6], %w: bf16[16,9,2,3], %b: bf16[9]) {
  %1 = conv_transpose(%x, %w, %b, stride=2) : bf16[2,9,14,13]
  return %1
}
)",
        R"(graph g(%x: bf16[2,7,9], %w: bf16[7,5,4]) {
  %1 = fused conv_transpose(%x, %w, stride=2, pad=1) { relu } : bf16[2,5,18]
  return %1
}
)",
        R"(graph g(%x: bf16[2,3,4,5,6], %w: bf16[3,4,3,3,3]) {
  %1 = fused conv_transpose(%x, %w, stride=2, pad=1, output_pad=1) { gelu } : bf16[2,4,8,10,12]
  return %1
}
)",
        R"(graph g(%x: bf16[2,16,9], %w: bf16[24,16,3], %b: bf16[24]) {
  %1 = fused conv(%x, %w, %b, pad=1, stride=2) { relu } : bf16[2,24,5]
  return %1
}
)",
        R"(graph g(%x: bf16[2,8,9,9], %w: bf16[8,8,2,2], %v: bf16[8,8,2,2], %y: f32[2,8,16,16]) {
  %1 = conv_transpose(%x, %w, stride=2, pad=1) : bf16[2,8,16,16]
  %2 = fused conv_transpose(%1, %v, stride=1) { cast(_, to=f32); add(_, 1.0) } : f32[2,8,17,17]
  %3 = fused conv(%1, %w) { relu } : bf16[2,8,15,15]
  %4 = fused cast(%1, to=f32) { mul(_, %y) } : f32[2,8,16,16]
  return %2, %3, %4
}
)"}) {
    const auto graph = graph_of(text);
    expect_same_on(text, inputs_of(*graph, {}), 2e-2);
    Session session(graph);
    if (session.device().name != "cpu" || !cpu::runs_dot_of_bf16()) continue;
    const auto plan = session.plan_for(inputs_of(*graph, {}));
    for (const auto& step : plan->steps) EXPECT_NE(step->info.kind, StepKind::reference) << plan->text();
  }
}

}  // namespace
}  // namespace tenon::testing
