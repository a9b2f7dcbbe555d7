// Conditions that the data must meet, on a GPU: the run goes on, and what did not hold is said when it is
// done.
#include "ir/ops/control.h"
#include "kernels/gpu/loop_source.h"
#include "runtime/gpu/launch.h"

namespace tenon::gpu {
namespace {

std::string check_source() {
  return translation_unit("kernels/gpu/prelude.gpu.h",
                          "extern \"C\" __global__ void check(const bool* holds, Fault* fault) {\n"
                          "  if (!*holds) report(fault, 0, 0);\n}\n");
}

void emit_check(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor condition = planner.assignment().at(node.input());
  const std::string message = node.as<Check>()->message;
  emit(planner, node,
       {{},
        {.source = check_source(),
         .name = "check",
         .size = blocks_of(1, 1),
         .buffers = {condition},
         .may_fault = true,
         .complaint = [message](const Fault&) { return error("{}", message); }},
        {condition},
        {}});
}

std::vector<Candidate> lower_check(const Planner& planner, const Group& group) {
  if (!group.node().is<Check>()) return {};
  return {{{.kernel = "check", .seconds = planner.estimate(0, 1)}, emit_check}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_check_lowerings() {
  return {{.op = &op_info<Check>(), .lower = gpu::lower_check, .alone = true}};
}

}  // namespace tenon
