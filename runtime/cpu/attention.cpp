// Attention in f32, heads read and written where they lie.
#include "kernels/cpu/attention.h"

#include "ir/ops/attention.h"
#include "runtime/calls/attention.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

class AttentionStep : public CpuStep {
 public:
  explicit AttentionStep(const cpu::Attention& call) : call_(call) {}

  void compute(const CpuFrame& frame) const override {
    cpu::Attention call = call_;
    call.q = frame.at<const float>(q);
    call.k = frame.at<const float>(k);
    call.v = frame.at<const float>(v);
    call.out = frame.at<float>(out);
    if (float_mask) call.float_mask = frame.at<const float>(*float_mask);
    if (bool_mask) call.bool_mask = frame.at<const std::uint8_t>(*bool_mask);
    cpu::attention(call, frame.scratch, frame.pool);
  }

  Address q, k, v, out;
  std::optional<Address> float_mask, bool_mask;

 private:
  cpu::Attention call_;
};

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

  cpu::Attention kernel{call.shape};
  kernel.q_strides = head_strides(q);
  kernel.k_strides = head_strides(k);
  kernel.v_strides = head_strides(v);
  kernel.out_strides = head_strides(as_heads(out, sizes));
  std::optional<Address> float_mask, bool_mask;
  if (call.mask) {
    reads.push_back(planner.assignment().at(call.mask));
    Index scores = sizes;
    scores.back() = call.shape.keys;
    const PlannedTensor mask = as_heads(reads.back().expand(scores), scores);
    kernel.mask_strides = head_strides(mask);
    kernel.mask_key_stride = mask.strides()[3];
    (is_bool(mask.dtype()) ? bool_mask : float_mask) = mask.address();
  }
  auto step = std::make_unique<AttentionStep>(kernel);
  step->q = q.address();
  step->k = k.address();
  step->v = v.address();
  step->out = out.address();
  step->float_mask = float_mask;
  step->bool_mask = bool_mask;
  step->scratch_bytes = cpu::attention_scratch_bytes(kernel, planner.threads());
  planner.emit(std::move(step), group.node(), std::move(reads), {out});
}

std::vector<Candidate> lower_attention(const Planner& planner, const Group& group) {
  const auto call = AttentionCall::match(group);
  if (!call || group.node().output()->dtype() != DType::f32) return {};
  const Work work = call->work();
  double copies = 0;
  for (const Value* operand : {call->q, call->k, call->v}) copies += planner.estimate_copy(operand, fits);
  const CandidateInfo info{.kernel = "attention",
                           .work = work,
                           .seconds = copies + planner.estimate(work.flops, work.bytes),
                           .scratch_bytes = cpu::attention_scratch_bytes({call->shape}, planner.threads())};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call); }}};
}

}  // namespace

std::vector<OpLowering> attention_lowerings() { return {{&op_info<Attention>(), lower_attention}}; }

}  // namespace tenon
