// Convolutions in f32 and bf16 with weights that the graph computes: packed by a step of their own in each
// run.
#include <algorithm>

#include "ir/ops/conv.h"
#include "kernels/cpu/conv.h"
#include "runtime/calls/conv.h"
#include "runtime/cpu/byte_conv.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/step.h"
#include "runtime/widen.h"

namespace tenon {
namespace {

class PackStep : public CpuStep {
 public:
  PackStep(const ConvShape& shape, cpu::ConvAlgorithm algorithm) : shape_(shape), algorithm_(algorithm) {}

  void compute(const CpuFrame& frame) const override {
    float* const to = frame.at<float>(packed);
    if (from_halves)
      cpu::pack_conv_halves(shape_, frame.at<const std::uint16_t>(weights), to, frame.pool);
    else
      cpu::pack_conv(shape_, algorithm_, frame.at<const float>(weights), to, frame.pool);
  }

  Address weights, packed;
  bool from_halves = false;

 private:
  ConvShape shape_;
  cpu::ConvAlgorithm algorithm_;
};

class ComputedConvStep : public CpuStep {
 public:
  ComputedConvStep(const ConvShape& shape, cpu::ConvAlgorithm algorithm, CpuEpilogue epilogue)
      : shape_(shape), algorithm_(algorithm), epilogue_(std::move(epilogue)) {}

  void compute(const CpuFrame& frame) const override {
    CpuEpilogue::Running running;
    const cpu::ConvRun run{.in = in_halves ? nullptr : frame.at<const float>(in),
                           .in_halves = in_halves ? frame.at<const std::uint16_t>(in) : nullptr,
                           .in_stride = in_stride,
                           .in_is_bf16 = in_is_bf16,
                           .packed = frame.at<const float>(packed),
                           .weights = weights ? frame.at<const float>(*weights) : nullptr,
                           .out = out_halves ? nullptr : frame.at<float>(out),
                           .out_halves = out_halves ? frame.at<std::uint16_t>(out) : nullptr,
                           .out_stride = out_stride,
                           .epilogue = epilogue_.bind(frame, running),
                           .scratch = reinterpret_cast<float*>(frame.scratch)};
    cpu::conv(shape_, algorithm_, run, frame.pool);
  }

  Address in, packed, out;
  std::optional<Address> weights;  // float32
  long in_stride = 0, out_stride = 0;
  bool in_is_bf16 = false;                     // float32 numbers of bfloat16
  bool in_halves = false, out_halves = false;  // in memory: bfloat16

 private:
  ConvShape shape_;
  cpu::ConvAlgorithm algorithm_;
  CpuEpilogue epilogue_;
};

void emit(Planner& planner, const Group& group, const ConvCall& call, CpuEpilogue epilogue,
          cpu::ConvAlgorithm algorithm, const CandidateInfo& info) {
  const Order& order = info.order;
  const auto in_rows = [&](const PlannedTensor& t) { return row_stride(t, order).has_value(); };
  const PlannedTensor weights = planner.dense(call.weights_value);
  const ConvShape packing = cpu::packing_shape(call.shape);
  const PlannedTensor packed =
      planner.bytes(static_cast<std::size_t>(cpu::conv_packed_size(packing, algorithm)) * sizeof(float));
  auto pack = std::make_unique<PackStep>(packing, algorithm);
  pack->weights = weights.address();
  pack->packed = packed.address();
  pack->from_halves = weights.dtype() == DType::bf16;
  planner.prepare(std::move(pack), {weights}, {packed});
  const PlannedTensor in = planner.rows(call.x, order);
  const PlannedTensor out = epilogue.match().assign_result(planner, group, order, in_rows);
  epilogue.place(planner);
  std::vector<PlannedTensor> reads = epilogue.reads();
  reads.insert(reads.end(), {in, packed, weights});
  auto step = std::make_unique<ComputedConvStep>(call.shape, algorithm, std::move(epilogue));
  step->in = in.address();
  step->in_stride = *row_stride(in, order);
  step->in_is_bf16 = is_widened_from(call.x, DType::bf16);
  step->in_halves = in.dtype() == DType::bf16;
  step->out_halves = out.dtype() == DType::bf16;
  step->packed = packed.address();
  if (weights.dtype() == DType::f32) step->weights = weights.address();
  step->out = out.address();
  step->out_stride = *row_stride(out, order);
  step->scratch_bytes = info.scratch_bytes;
  planner.emit(std::move(step), group.node(), std::move(reads), {out});
}

std::vector<Candidate> lower_computed_conv(const Planner& planner, const Group& group) {
  if (has_byte_kernel(planner, group)) return {};
  auto call = ConvCall::match_any_weights(planner, group);
  if (!call) call = ConvCall::match_halves(planner, group);
  if (!call || call->weights.defined() || call->anchor->input(0)->dtype() != DType::f32 ||
      call->shape.flops() == 0)
    return {};
  const Order order = channels_last(call->x->rank());
  const auto epilogue = find_epilogue(planner, group, *call->anchor, call->bias, order, {.halves = true});
  if (!epilogue) return {};
  Work work = call->work();
  const Type& result = group.results()[0]->type();
  work.bytes += epilogue->match().bytes() + bytes_of(result) - bytes_of(call->anchor->output()->type());
  const bool in_halves = call->x->dtype() == DType::bf16;
  const bool out_halves = result.dtype == DType::bf16;
  const bool in_is_bf16 = in_halves || is_widened_from(call->x, DType::bf16);
  const bool weights_in_halves = call->weights_value->dtype() == DType::bf16;
  std::vector<cpu::ConvAlgorithm> algorithms;
  if (weights_in_halves || (in_halves && is_widened_from(call->weights_value, DType::bf16)))
    algorithms.push_back(cpu::ConvAlgorithm::gemm_bf16);
  if (!weights_in_halves)
    algorithms.insert(algorithms.end(), cpu::conv_algorithms.begin(), cpu::conv_algorithms.end());
  const double copies =
      planner.estimate_copy(call->x, [&](const Strided& t) { return row_stride(t, order).has_value(); });
  std::vector<Candidate> candidates;
  for (const cpu::ConvAlgorithm a : algorithms) {
    // Its weights would have to be looked at.
    if (a == cpu::ConvAlgorithm::strassen || !cpu::conv_supports(call->shape, a)) continue;
    if (in_halves && !cpu::conv_reads_halves(call->shape, a)) continue;
    if (out_halves && !cpu::conv_writes_halves(call->shape, a)) continue;
    if (weights_in_halves && cpu::conv_reads_weights(call->shape, a)) continue;
    const auto floats = [](long count) { return static_cast<double>(count) * sizeof(float); };
    const double packing = bytes_of(call->weights_value->type()) +
                           floats(cpu::conv_packed_size(cpu::packing_shape(call->shape), a));
    const auto scratch = static_cast<std::size_t>(cpu::conv_scratch_size(call->shape, a, planner.threads()));
    const CandidateInfo info{.kernel = std::string(cpu::name(a)) + epilogue->text(),
                             .work = work,
                             .seconds = copies + planner.estimate(cpu::conv_cost(call->shape, a, in_is_bf16),
                                                                  work.bytes + 4 * packing),
                             .order = order,
                             .scratch_bytes = scratch * sizeof(float)};
    candidates.push_back({info, [=](Planner& p, const Group& g) { emit(p, g, *call, *epilogue, a, info); }});
  }
  return candidates;
}

}  // namespace

std::vector<OpLowering> computed_conv_lowerings() {
  return {
      {.op = &op_info<Conv>(), .lower = lower_computed_conv, .channels_last = true, .widens = true},
      {.op = &op_info<ConvTranspose>(), .lower = lower_computed_conv, .channels_last = true, .widens = true}};
}

}  // namespace tenon
