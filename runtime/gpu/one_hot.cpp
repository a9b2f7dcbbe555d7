// Indices as rows of zeros and a one, on a GPU.
#include <fmt/format.h>

#include "ir/ops/index.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"
#include "runtime/gpu/launch.h"

namespace tenon::gpu {
namespace {

// A thread for each element; without classes for each row, which says that its index is wrong.
std::string one_hot_source(DType indices) {
  return translation_unit(
      "kernels/gpu/loop_values.gpu.h",
      fmt::format("struct OneHotShape {{ Int rows, classes; }};\n"
                  "extern \"C\" __global__ void one_hot(const {}* indices, Int* out, Fault* fault, "
                  "const OneHotShape s) {{\n"
                  "  const Int i = Int(blockIdx.x) * blockDim.x + threadIdx.x;\n"
                  "  const Int width = s.classes > 0 ? s.classes : 1, row = i / width;\n"
                  "  if (row >= s.rows) return;\n"
                  "  BadOperand bad;\n"
                  "  const Int place = place_of(convert<Int>(indices[row]), s.classes, false, bad);\n"
                  "  report(fault, bad);\n"
                  "  if (s.classes > 0) out[i] = i % width == place;\n"
                  "}}\n",
                  storage(indices)));
}

void emit_one_hot(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor indices = planner.dense(node.input());
  const PlannedTensor out =
      planner.assignment().assign(node.output(), row_major(node.output()->rank()),
                                  [](const PlannedTensor& t) { return t.is_contiguous(); });
  const std::int64_t fields[] = {indices.numel(), out.shape().back()};
  emit(planner, node,
       {.name = {},
        .kernel = {.source = one_hot_source(indices.dtype()),
                   .name = "one_hot",
                   .size = threads_for(std::max(indices.numel(), out.numel())),
                   .buffers = {indices, out},
                   .arguments = {struct_of(fields)},
                   .may_fault = true},
        .reads = {indices},
        .writes = {out}});
}

std::vector<Candidate> lower_one_hot(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const double bytes = bytes_of(node.input()->type()) + bytes_of(node.output()->type());
  return {
      {{.kernel = "one hot", .work = {.bytes = bytes}, .seconds = planner.estimate(0, bytes)}, emit_one_hot}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_one_hot_lowerings() {
  return {{.op = &op_info<OneHot>(), .lower = gpu::lower_one_hot, .alone = true}};
}

}  // namespace tenon
