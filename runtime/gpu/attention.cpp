// Attention on a GPU: one kernel, heads read and written where they lie.
#include "runtime/calls/attention.h"

#include "ir/ops/attention.h"
#include "kernels/gpu/attention_source.h"
#include "runtime/gpu/loop.h"

namespace tenon::gpu {
namespace {

constexpr auto fits = [](const Strided& t) { return last_axis_is_contiguous(t); };

PlannedTensor in_rows(Planner& planner, const Value* value) {
  const PlannedTensor place = planner.assignment().at(value);
  return fits(place) ? place : planner.dense(value);
}

void emit(Planner& planner, const Group& group, const AttentionCall& call) {
  const Value* result = group.node().output();
  const Index sizes = eval(result->shape(), {});
  std::vector<PlannedTensor> reads;
  for (const Value* operand : {call.q, call.k, call.v}) reads.push_back(in_rows(planner, operand));
  const PlannedTensor q = as_heads(reads[0], sizes), k = as_heads(reads[1], sizes),
                      v = as_heads(reads[2], sizes);
  const Order wished = planner.assignment().order_for_reader(result);
  const bool keeps_rows = wished.back() == static_cast<std::int64_t>(wished.size()) - 1;
  const PlannedTensor out =
      planner.assignment().assign(result, keeps_rows ? wished : row_major(wished.size()), fits);

  AttentionProgram program{.shape = call.shape,
                           .dtype = q.dtype(),
                           .q = head_strides(q),
                           .k = head_strides(k),
                           .v = head_strides(v),
                           .out = head_strides(as_heads(out, sizes)),
                           .q_offset = q.offset(),
                           .k_offset = k.offset(),
                           .v_offset = v.offset()};
  if (call.mask) {
    reads.push_back(planner.assignment().at(call.mask));
    Index scores = sizes;
    scores.back() = call.shape.keys;
    const PlannedTensor mask = as_heads(reads.back().expand(scores), scores);
    program.mask = mask.dtype();
    program.mask_strides = head_strides(mask);
    program.mask_key = mask.strides()[3];
  }
  Gpu& gpu = gpu_of(planner);
  AttentionKernel kernel = attention_kernel(program, limits_of(gpu));
  std::vector<PlannedTensor> buffers = reads;
  buffers.push_back(out);
  auto step = std::make_unique<LaunchStep>(
      gpu, LaunchStep::Kernel{.source = std::move(kernel.source),
                              .name = "attention",
                              .size = {{static_cast<unsigned>(kernel.grid), 1, 1},
                                       {static_cast<unsigned>(kernel.block), 1, 1}},
                              .buffers = std::move(buffers),
                              .arguments = {std::move(kernel.arguments)}});
  step->info.kernel = "attention " + kernel.tiling;
  planner.emit(std::move(step), group.node(), std::move(reads), {out});
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
  double copies = 0;
  for (const Value* operand : {call->q, call->k, call->v}) copies += planner.estimate_copy(operand, fits);
  const CandidateInfo info{
      .kernel = "attention", .work = work, .seconds = copies + planner.estimate(work.flops, work.bytes)};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call); }}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_attention_lowerings() { return {{&op_info<Attention>(), gpu::lower_attention}}; }

}  // namespace tenon
