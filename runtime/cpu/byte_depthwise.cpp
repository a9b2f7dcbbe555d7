// Depthwise convolutions of images that lie in memory as bytes: of integers where the filters are such, else
// in float32.
#include "kernels/cpu/byte_depthwise.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "ir/ops/arithmetic.h"
#include "ir/ops/conv.h"
#include "kernels/cpu/byte_conv.h"
#include "kernels/cpu/integer_depthwise.h"
#include "runtime/byte_images.h"
#include "runtime/calls/byte_conv.h"
#include "runtime/centred_bytes.h"
#include "runtime/constant_value.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/pack.h"
#include "runtime/cpu/quantized_pack.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

void compute_run(const ConvShape& shape, const cpu::ByteDepthwise& run, const CpuFrame& frame) {
  cpu::byte_depthwise(shape, run, reinterpret_cast<float*>(frame.scratch), frame.pool);
}
void compute_run(const ConvShape& shape, const cpu::IntegerDepthwise& run, const CpuFrame& frame) {
  cpu::integer_depthwise(shape, run, reinterpret_cast<std::uint8_t*>(frame.scratch), frame.pool);
}

long scratch_bytes(const ConvShape& shape, const cpu::ByteDepthwise& run, int threads) {
  return cpu::byte_depthwise_scratch_size(shape, threads, run.schedule) * long{sizeof(float)};
}
long scratch_bytes(const ConvShape& shape, const cpu::IntegerDepthwise& run, int threads) {
  return cpu::integer_depthwise_scratch_size(shape, threads, run.schedule);
}

/// Run: cpu::ByteDepthwise or cpu::IntegerDepthwise.
template <class Run>
class DepthwiseStep : public CpuStep {
 public:
  DepthwiseStep(const ConvShape& shape, const Run& run, CpuEpilogue epilogue)
      : shape_(shape), run_(run), epilogue_(std::move(epilogue)) {}

  void compute(const CpuFrame& frame) const override {
    CpuEpilogue::Running running;
    Run run = run_;
    run.in = frame.at<const std::uint8_t>(in);
    run.packed = frame.at<const float>(packed);
    run.out = out_bytes ? nullptr : frame.at<float>(out);
    run.epilogue = epilogue_.bind(frame, running, 0, out_bytes ? &out : nullptr);
    compute_run(shape_, run, frame);
  }

  Address in, packed, out;
  bool out_bytes = false;  // in memory

 private:
  ConvShape shape_;
  Run run_;
  CpuEpilogue epilogue_;
};

struct Call {
  ConvCall conv;
  ConstantValue filters;
  float zero = 0, scale = 1;
};

// Of a group that holds what makes float32 of its image.
std::optional<Call> match(const Group& group) {
  auto conv = ConvCall::match_shape(group);
  if (!conv || !is_byte(conv->x->dtype()) || conv->shape.flops() == 0 ||
      !cpu::byte_depthwise_supports(conv->shape))
    return std::nullopt;
  const auto made = ScaledBytes::of(conv->anchor->input(0));
  const ConstantValue filters(conv->weights_value);
  if (!made || !filters.is_constant() || !filters.first_weight().defined()) return std::nullopt;
  Call call{.conv = *std::move(conv), .filters = filters};
  for (const Node* step : made->chain()) {
    if (step->is<Sub>()) call.zero = static_cast<float>(step->input(1)->tensor().get_double());
    if (step->is<Mul>()) call.scale = static_cast<float>(step->input(1)->tensor().get_double());
  }
  return call;
}

/// A step whose run has its own numbers already.
template <class Run>
void emit_run(Planner& planner, const Group& group, const ConvCall& conv, CpuEpilogue epilogue,
              const CandidateInfo& info, const PlannedTensor& packed, Run run) {
  const PlannedTensor in = planner.rows(conv.x, info.order);
  const PlannedTensor out = epilogue.place_result(planner, group, info.order);
  std::vector<PlannedTensor> reads = epilogue.reads();
  reads.insert(reads.end(), {in, packed});
  run.in_is_signed = in.dtype() == DType::i8;
  run.in_stride = *row_stride(in, info.order);
  run.out_stride = *row_stride(out, info.order);
  run.schedule = planner.schedule();
  auto step = std::make_unique<DepthwiseStep<Run>>(conv.shape, run, std::move(epilogue));
  step->in = in.address();
  step->packed = packed.address();
  step->out = out.address();
  step->out_bytes = is_byte(out.dtype());
  step->scratch_bytes = static_cast<std::size_t>(scratch_bytes(conv.shape, run, planner.threads()));
  planner.emit(std::move(step), group.node(), std::move(reads), {out});
}

void emit(Planner& planner, const Group& group, const Call& call, const CpuEpilogue& epilogue,
          const CandidateInfo& info) {
  const ConvShape& shape = call.conv.shape;
  const Tensor filters = call.filters.evaluate().to(DType::f32).contiguous();
  const std::span<const float> numbers(filters.data<float>(), static_cast<std::size_t>(filters.numel()));
  const PlannedTensor packed = packed_floats(
      planner, call.filters.first_weight(), info.weights + " of " + call.filters.text(),
      cpu::byte_depthwise_packed_size(shape),
      [&](const Tensor&, float* to, ThreadPool&) { cpu::pack_byte_depthwise(shape, numbers.data(), to); });
  cpu::ByteDepthwise run;
  run.zero = call.zero;
  run.scale = call.scale;
  run.filters_are_finite = std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); });
  emit_run(planner, group, call.conv, epilogue, info, packed, run);
}

void emit_integers(Planner& planner, const Group& group, const ByteConvCall& call,
                   const CpuEpilogue& epilogue, const CandidateInfo& info) {
  const ConvShape& shape = call.conv.shape;
  const cpu::ByteScale image{-call.numbers.image.least, call.numbers.image.scale};
  const QuantizedMatrix& filters = call.numbers.filters;
  const PlannedTensor packed =
      packed_floats(planner, filters.first_weight(), info.weights + " of " + filters.text(),
                    cpu::integer_depthwise_packed_size(shape), [&](const Tensor&, float* to, ThreadPool&) {
                      cpu::pack_integer_depthwise(shape, numbers_of(filters), image, to);
                    });
  cpu::IntegerDepthwise run;
  run.zero = image.zero;
  emit_run(planner, group, call.conv, epilogue, info, packed, run);
}

std::vector<Candidate> lower_byte_depthwise(const Planner& planner, const Group& group) {
  const auto call = match(group);
  if (!call) return {};
  const ConvCall& conv = call->conv;
  const Order order = channels_last(conv.x->rank());
  const auto epilogue = find_epilogue(planner, group, *conv.anchor, conv.bias, order, {.bytes = true});
  if (!epilogue) return {};
  Work work = conv.work();
  work.bytes += epilogue->match().bytes();
  const double copies =
      planner.estimate_copy(conv.x, [&](const Strided& t) { return row_stride(t, order).has_value(); });
  CandidateInfo info{.kernel = "byte depthwise" + epilogue->text(), .work = work, .order = order};
  const auto seconds = [&](double cost_of_flop) {
    return copies + planner.estimate(cost_of_flop * work.flops, work.bytes);
  };
  const ConvShape& shape = conv.shape;
  auto integers = epilogue->is_hook() && cpu::integer_depthwise_supports(shape)
                      ? ByteConvCall::match(planner, group)
                      : std::nullopt;
  if (integers) {
    const NumberGrid& image = integers->numbers.image;
    info.seconds = seconds(1);
    info.knobs = cpu::integer_depthwise_knobs;
    info.weights = fmt::format("integers depthwise {}, {} {}, {} {}", shape.Cin, shape.h.kernel,
                               shape.w.kernel, image.least, image.scale);
    info.weight_bytes = sizeof(float) * static_cast<std::size_t>(cpu::integer_depthwise_packed_size(shape));
    info.scratch_bytes =
        static_cast<std::size_t>(scratch_bytes(shape, cpu::IntegerDepthwise{}, planner.threads()));
    return {{info, [=](Planner& p, const Group& g) { emit_integers(p, g, *integers, *epilogue, info); }}};
  }
  info.seconds = seconds(4);  // as that of float32 in conv_cost
  info.knobs = cpu::byte_depthwise_knobs;
  info.weights = fmt::format("bytes depthwise {}, {} {}", shape.Cin, shape.h.kernel, shape.w.kernel);
  info.weight_bytes = sizeof(float) * static_cast<std::size_t>(cpu::byte_depthwise_packed_size(shape));
  info.scratch_bytes =
      static_cast<std::size_t>(scratch_bytes(shape, cpu::ByteDepthwise{}, planner.threads()));
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call, *epilogue, info); }}};
}

bool takes_bytes(const Node& member, const Group& group, WeightStore&) {
  if (!cpu::runs_dot_of_bytes() || member.output()->dtype() != DType::f32) return false;
  const auto call = ConvCall::match_shape(group);
  if (!call || call->anchor != &member || call->shape.flops() == 0) return false;
  const ConstantValue filters(call->weights_value);
  return cpu::byte_depthwise_supports(call->shape) && filters.is_constant() &&
         filters.first_weight().defined();
}

}  // namespace

std::vector<OpLowering> byte_depthwise_lowerings() {
  return {{.op = &op_info<Conv>(),
           .lower = lower_byte_depthwise,
           .channels_last = true,
           .takes_bytes = takes_bytes}};
}

}  // namespace tenon
