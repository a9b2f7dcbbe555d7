// Attention on a GPU: one kernel, heads read and written where they lie.
#include "runtime/calls/attention.h"

#include "ir/ops/attention.h"
#include "kernels/gpu/attention_source.h"
#include "runtime/gpu/loop.h"

namespace tenon::gpu {
namespace {

void emit(Planner& planner, const Group& group, const AttentionCall& call) {
  PlacedAttention placed = place_attention(planner, group, call);
  AttentionProgram program{.shape = call.shape,
                           .dtype = placed.q.dtype(),
                           .q = head_strides(placed.q),
                           .k = head_strides(placed.k),
                           .v = head_strides(placed.v),
                           .out = head_strides(placed.out),
                           .q_offset = placed.q.offset(),
                           .k_offset = placed.k.offset(),
                           .v_offset = placed.v.offset()};
  if (placed.mask) {
    program.mask = placed.mask->dtype();
    program.mask_strides = head_strides(*placed.mask);
    program.mask_key = placed.mask->strides()[3];
  }
  Gpu& gpu = gpu_of(planner);
  AttentionKernel kernel = attention_kernel(program, limits_of(gpu));
  std::vector<PlannedTensor> buffers = placed.reads;
  buffers.push_back(placed.result);
  auto step =
      std::make_unique<LaunchStep>(gpu, LaunchStep::Kernel{.source = std::move(kernel.source),
                                                           .name = "attention",
                                                           .size = {{kernel.grid, 1, 1}, kernel.block},
                                                           .buffers = std::move(buffers),
                                                           .arguments = {std::move(kernel.arguments)}});
  step->info.kernel = "attention " + kernel.tiling;
  planner.emit(std::move(step), group.node(), std::move(placed.reads), {placed.result});
}

bool is_attention_type(DType t) { return t == DType::f32 || t == DType::f16 || t == DType::bf16; }

std::vector<Candidate> lower_attention(const Planner& planner, const Group& group) {
  const auto call = AttentionCall::match(group);
  if (!call) return {};
  const DType dtype = call->q->dtype();
  if (!is_attention_type(dtype) || call->k->dtype() != dtype || call->v->dtype() != dtype) return {};
  if (group.node().output()->dtype() != dtype || !fits_attention(call->shape, dtype)) return {};
  if (call->mask && !is_bool(call->mask->dtype()) && !is_float(call->mask->dtype())) return {};
  const Work work = call->work();
  const CandidateInfo info{
      .kernel = "attention",
      .work = work,
      .seconds = estimate_copies(planner, *call) + planner.estimate(work.flops, work.bytes)};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call); }}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_attention_lowerings() { return {{&op_info<Attention>(), gpu::lower_attention}}; }

}  // namespace tenon
