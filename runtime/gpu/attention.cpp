// Attention on a GPU: one kernel, heads read and written where they lie.
#include "runtime/calls/attention.h"

#include "ir/ops/attention.h"
#include "kernels/gpu/attention_source.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/loop.h"
#include "runtime/gpu/unit_proof.h"

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
                           .v_offset = placed.v.offset(),
                           .out_offset = placed.out.offset()};
  program.chains = gpu_of(planner).driver().vendor == Vendor::cuda;
  if (placed.mask) {
    program.mask = placed.mask->dtype();
    program.mask_strides = head_strides(*placed.mask);
    program.mask_key = placed.mask->strides()[3];
  }
  program.has_sink = placed.sink.has_value();
  Gpu& gpu = gpu_of(planner);
  GpuLimits limits = limits_of(gpu);
  limits.units = proven(gpu, attention_units(program.shape, program.dtype));
  AttentionKernel kernel = attention_kernel(program, limits);
  const bool in_parts = kernel.part_floats > 0;
  const PlannedTensor written =
      in_parts ? planner.bytes(static_cast<std::size_t>(kernel.part_floats) * sizeof(float)) : placed.result;
  std::vector<PlannedTensor> buffers = placed.reads;
  buffers.push_back(written);
  Launch attend{.name = "attention " + kernel.tiling,
                .kernel = {.source = kernel.source,
                           .name = "attention",
                           .size = blocks_of(kernel.grid, kernel.block),
                           .buffers = std::move(buffers),
                           .arguments = {kernel.arguments}},
                .reads = std::move(placed.reads),
                .writes = {written}};
  if (!in_parts) return gpu::emit(planner, group.node(), std::move(attend));
  prepare(planner, std::move(attend));
  std::vector<PlannedTensor> joined{written};
  if (placed.sink) joined.push_back(*placed.sink);
  std::vector<PlannedTensor> buffers_of_join = joined;
  buffers_of_join.push_back(placed.result);
  gpu::emit(planner, group.node(),
            {"join attention",
             {kernel.source,
              "join",
              blocks_of(kernel.join_grid, AttentionKernel::join_threads),
              std::move(buffers_of_join),
              {kernel.arguments}},
             std::move(joined),
             {placed.result}});
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
