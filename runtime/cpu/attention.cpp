// Attention in f32, of bf16 where its result is rounded to it. Heads are read and written where they lie.
#include "kernels/cpu/attention.h"

#include <algorithm>
#include <array>

#include "ir/ops/attention.h"
#include "kernels/cpu/row_gemm.h"
#include "runtime/calls/attention.h"
#include "runtime/cpu/step.h"
#include "runtime/widen.h"

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
    if (sink) call.sink = frame.at<const float>(*sink);
    cpu::attention(call, frame.scratch, frame.pool);
  }

  Address q, k, v, out;
  std::optional<Address> float_mask, bool_mask, sink;

 private:
  cpu::Attention call_;
};

// Rounding takes longer than it saves where queries are few.
bool is_of_bf16(const Group& group, const AttentionCall& call) {
  return call.shape.queries >= 32 && cpu::runs_dot_of_bf16() &&
         is_read_rounded(*group.node().output(), DType::bf16) &&
         std::ranges::all_of(std::array{call.q, call.k, call.v},
                             [](const Value* v) { return is_widened_from(v, DType::bf16); });
}

void emit(Planner& planner, const Group& group, const AttentionCall& call) {
  PlacedAttention placed = place_attention(planner, group, call);
  cpu::Attention kernel{call.shape};
  kernel.q_strides = head_strides(placed.q);
  kernel.k_strides = head_strides(placed.k);
  kernel.v_strides = head_strides(placed.v);
  kernel.out_strides = head_strides(placed.out);
  std::optional<Address> float_mask, bool_mask;
  if (const auto& mask = placed.mask) {
    kernel.mask_strides = head_strides(*mask);
    kernel.mask_key_stride = mask->strides()[3];
    (is_bool(mask->dtype()) ? bool_mask : float_mask) = mask->address();
  }
  kernel.of_bf16 = is_of_bf16(group, call);
  kernel.schedule = planner.schedule();
  auto step = std::make_unique<AttentionStep>(kernel);
  step->q = placed.q.address();
  step->k = placed.k.address();
  step->v = placed.v.address();
  step->out = placed.out.address();
  step->float_mask = float_mask;
  step->bool_mask = bool_mask;
  if (placed.sink) step->sink = placed.sink->address();
  step->scratch_bytes = cpu::attention_scratch_bytes(kernel, planner.threads());
  planner.emit(std::move(step), group.node(), std::move(placed.reads), {placed.result});
}

std::vector<Candidate> lower_attention(const Planner& planner, const Group& group) {
  const auto call = AttentionCall::match(group);
  if (!call || group.node().output()->dtype() != DType::f32) return {};
  const bool of_bf16 = is_of_bf16(group, *call);
  Work work = call->work();
  if (of_bf16) work.arithmetic = ArithmeticKind::bf16;
  const CandidateInfo info{
      .kernel = of_bf16 ? "attention bf16" : "attention",
      .work = work,
      .seconds = estimate_copies(planner, *call) + planner.estimate(work.flops, work.bytes),
      .scratch_bytes = cpu::attention_scratch_bytes({call->shape}, planner.threads()),
      .knobs = cpu::attention_knobs};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call); }}};
}

}  // namespace

std::vector<OpLowering> attention_lowerings() {
  return {{.op = &op_info<Attention>(), .lower = lower_attention, .alone = true, .widens = true}};
}

}  // namespace tenon
