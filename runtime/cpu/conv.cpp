// Convolutions and transposed convolutions in f32 with constant weights.
#include "kernels/cpu/conv.h"

#include <algorithm>

#include "ir/ops/activation.h"
#include "ir/ops/conv.h"
#include "kernels/cpu/conv_strassen.h"
#include "kernels/cpu/row_gemm.h"
#include "runtime/calls/conv.h"
#include "runtime/cpu/byte_conv.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/pack.h"
#include "runtime/cpu/step.h"
#include "runtime/widen.h"

namespace tenon {
namespace {

class ConvStep : public CpuStep {
 public:
  ConvStep(ConvShape shape, cpu::ConvAlgorithm algorithm, CpuEpilogue epilogue)
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
                           .scratch = reinterpret_cast<float*>(frame.scratch),
                           .schedule = schedule};
    cpu::conv(shape_, algorithm_, run, frame.pool);
  }

  Address in, packed, out;
  std::optional<Address> weights;
  long in_stride = 0, out_stride = 0;
  bool in_is_bf16 = false;                     // float32 numbers of bfloat16
  bool in_halves = false, out_halves = false;  // in memory: bfloat16

 private:
  ConvShape shape_;
  cpu::ConvAlgorithm algorithm_;
  CpuEpilogue epilogue_;
};

std::string form_of(const ConvShape& s, cpu::ConvAlgorithm algorithm) {
  std::string form =
      fmt::format("{} {} {} {} {}", cpu::name(algorithm), s.transposed, s.Cin, s.Cout, s.groups);
  for (const ConvAxis& a : {s.d, s.h, s.w}) form += fmt::format(", {} {} {}", a.kernel, a.stride, a.dilation);
  return form;
}

// The packer sees what the form says and nothing else.
PlannedTensor packed_weights(Planner& planner, const Tensor& weights, const ConvShape& shape,
                             cpu::ConvAlgorithm algorithm) {
  const ConvShape s = cpu::packing_shape(shape);
  return packed_floats(planner, weights, form_of(s, algorithm), cpu::conv_packed_size(s, algorithm),
                       [&](const Tensor& w, float* to, ThreadPool& pool) {
                         const Tensor floats = w.to(DType::f32).contiguous();
                         cpu::pack_conv(s, algorithm, floats.data<float>(), to, pool);
                       });
}

// In the order in which PyTorch writes them.
PlannedTensor dense_weights(Planner& planner, const Tensor& weights) {
  if (weights.is_contiguous() && weights.dtype() == DType::f32) return planner.constant(weights);
  return packed_floats(planner, weights, "dense", weights.numel(),
                       [](const Tensor& w, float* to, ThreadPool&) {
                         const Tensor floats = w.to(DType::f32).contiguous();
                         std::copy_n(floats.data<float>(), w.numel(), to);
                       });
}

std::size_t scratch_of(const ConvShape& shape, cpu::ConvAlgorithm algorithm, int threads,
                       const Schedule& schedule = {}) {
  return static_cast<std::size_t>(cpu::conv_scratch_size(shape, algorithm, threads, schedule)) *
         sizeof(float);
}

void emit(Planner& planner, const Group& group, const ConvCall& call, CpuEpilogue epilogue,
          cpu::ConvAlgorithm algorithm, const CandidateInfo& info) {
  const Order& order = info.order;
  const auto in_rows = [&](const PlannedTensor& t) { return row_stride(t, order).has_value(); };
  const PlannedTensor packed = packed_weights(planner, call.weights, call.shape, algorithm);
  const PlannedTensor in = planner.rows(call.x, order);
  const PlannedTensor out = epilogue.match().assign_result(planner, group, order, in_rows);
  epilogue.place(planner);
  std::vector<PlannedTensor> reads = epilogue.reads();
  reads.insert(reads.end(), {in, packed});
  auto step = std::make_unique<ConvStep>(call.shape, algorithm, std::move(epilogue));
  step->in = in.address();
  step->in_stride = *row_stride(in, order);
  step->in_is_bf16 = is_widened_from(call.x, DType::bf16);
  step->in_halves = in.dtype() == DType::bf16;
  step->out_halves = out.dtype() == DType::bf16;
  step->packed = packed.address();
  step->out = out.address();
  step->out_stride = *row_stride(out, order);
  step->scratch_bytes = scratch_of(call.shape, algorithm, planner.threads(), planner.schedule());
  if (cpu::conv_reads_weights(call.shape, algorithm)) {
    reads.push_back(dense_weights(planner, call.weights));
    step->weights = reads.back().address();
  }
  planner.emit(std::move(step), group.node(), std::move(reads), {out});
}

bool takes_strassen(const Planner& planner, const ConvCall& call) {
  return !planner.runs_once() && cpu::conv_strassen_pays(call.shape) && call.weights.dtype() == DType::f32;
}

std::vector<Candidate> lower_conv(const Planner& planner, const Group& group) {
  if (has_byte_kernel(planner, group)) return {};
  auto call = ConvCall::match(planner, group);
  if (!call) call = ConvCall::match_halves(planner, group);
  if (!call || !call->weights.defined() || call->anchor->input(0)->dtype() != DType::f32) return {};
  const Order order = channels_last(call->x->rank());
  const auto epilogue = find_epilogue(planner, group, *call->anchor, call->bias, order, {.halves = true});
  if (!epilogue) return {};
  Work work = call->work();
  const Type& result = group.results()[0]->type();
  work.bytes += epilogue->match().bytes() + bytes_of(result) - bytes_of(call->anchor->output()->type());
  const double copies =
      planner.estimate_copy(call->x, [&](const Strided& t) { return row_stride(t, order).has_value(); });
  std::vector<Candidate> candidates;
  std::vector<cpu::ConvAlgorithm> algorithms(cpu::conv_algorithms.begin(), cpu::conv_algorithms.end());
  if (const auto narrow = cpu::conv_algorithm_of(call->weights.dtype()))
    algorithms.insert(algorithms.begin(), *narrow);
  const bool in_halves = call->x->dtype() == DType::bf16;
  const bool out_halves = result.dtype == DType::bf16;
  const bool in_is_bf16 = in_halves || is_widened_from(call->x, DType::bf16);
  for (const cpu::ConvAlgorithm a : algorithms) {
    if (!cpu::conv_supports(call->shape, a)) continue;
    if (a == cpu::ConvAlgorithm::strassen && !takes_strassen(planner, *call)) continue;
    if (in_halves && !cpu::conv_reads_halves(call->shape, a)) continue;
    if (out_halves && !cpu::conv_writes_halves(call->shape, a)) continue;
    // It reads packed weights: Winograd's are several times as large.
    const double packed = sizeof(float) * static_cast<double>(cpu::conv_packed_size(call->shape, a));
    const double images = work.bytes - bytes_of(call->weights_value->type());
    Work moved = work;
    moved.bytes = images + packed;
    const bool of_bf16 = in_is_bf16 && a == cpu::ConvAlgorithm::gemm_bf16;
    if (work.arithmetic) moved.arithmetic = of_bf16 ? ArithmeticKind::bf16 : ArithmeticKind::f32;
    const double cost = cpu::conv_cost(call->shape, a, in_is_bf16);
    double seconds = planner.estimate(cost, moved.bytes);
    if (cpu::conv_streams_weights(a)) {
      const auto [shorter, longer] =
          std::minmax({planner.estimate(cost, images), planner.estimate(0, packed)});
      constexpr double apart = 0.1;  // of the shorter one
      seconds = longer + apart * shorter;
    }
    const CandidateInfo info{.kernel = std::string(cpu::name(a)) + epilogue->text(),
                             .work = moved,
                             .seconds = copies + seconds,
                             .order = order,
                             .weights = form_of(cpu::packing_shape(call->shape), a),
                             .weight_bytes = static_cast<std::size_t>(packed),
                             .scratch_bytes = scratch_of(call->shape, a, planner.threads()),
                             .knobs = cpu::conv_knobs(a)};
    candidates.push_back({info, [=](Planner& p, const Group& g) { emit(p, g, *call, *epilogue, a, info); }});
  }
  return candidates;
}

// Of a convolution of bfloat16.
std::optional<ConvShape> shape_of_halves(const Node& member, const Group& group) {
  const auto* const conv = member.as<Conv>();
  const auto* const transposed = member.as<ConvTranspose>();
  const Value* const weights = conv || transposed ? group.outer(member.input(1)) : nullptr;
  if (!weights || member.output()->dtype() != DType::bf16 || weights->rank() < 3 || weights->rank() > 5)
    return std::nullopt;
  const Index image = eval(member.input(0)->shape(), {}), sizes = eval(weights->shape(), {});
  return conv ? conv_shape(*conv, image, sizes) : conv_shape(*transposed, image, sizes);
}

bool reads_halves(const Node& member, const Group& group) {
  constexpr auto algorithm = cpu::ConvAlgorithm::gemm_bf16;
  const auto shape = shape_of_halves(member, group);
  if (!shape || !cpu::conv_supports(*shape, algorithm) || !cpu::conv_reads_halves(*shape, algorithm))
    return false;
  // Of weights that are computed, float32 would have to be made for any other algorithm.
  const bool is_known = group.outer(member.input(1))->kind() == Value::Kind::weight;
  return is_known ||
         (cpu::runs_dot_of_bf16() && !cpu::conv_reads_weights(*shape, algorithm) &&
          cpu::conv_cost(*shape, algorithm, true) <= cpu::conv_cost(*shape, cpu::choose_conv(*shape)));
}

bool writes_halves(const Node& member, const Group& group) {
  // A transposed one takes no hook but one that rounds.
  const auto only_rounds = [&](const Node* m) { return m == &member || m->is<Relu>(); };
  if (member.is<ConvTranspose>() &&
      (group.members().size() > 2 || !std::ranges::all_of(group.members(), only_rounds)))
    return false;
  return reads_halves(member, group) &&
         cpu::conv_writes_halves(*shape_of_halves(member, group), cpu::ConvAlgorithm::gemm_bf16);
}

}  // namespace

std::vector<OpLowering> conv_lowerings() {
  return {{.op = &op_info<Conv>(),
           .lower = lower_conv,
           .channels_last = true,
           .widens = true,
           .reads_halves = reads_halves,
           .writes_halves = writes_halves},
          {.op = &op_info<ConvTranspose>(),
           .lower = lower_conv,
           .channels_last = true,
           .widens = true,
           .reads_halves = reads_halves,
           .writes_halves = writes_halves}};
}

}  // namespace tenon
