// Convolutions of images of 8-bit integers times a scale, which lie in memory as float32 or as bytes.
#include "runtime/cpu/byte_conv.h"

#include "ir/ops/conv.h"
#include "kernels/cpu/byte_conv.h"
#include "runtime/calls/byte_conv.h"
#include "runtime/centred_bytes.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/pack.h"
#include "runtime/cpu/quantized_pack.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

class ByteConvStep : public CpuStep {
 public:
  ByteConvStep(const ConvShape& shape, const NumberGrid& grid, CpuEpilogue epilogue)
      : shape_(shape), grid_(grid), epilogue_(std::move(epilogue)) {}

  void compute(const CpuFrame& frame) const override {
    CpuEpilogue::Running running;
    const cpu::ByteConv run{.in = in_bytes ? nullptr : frame.at<const float>(in),
                            .in_bytes = in_bytes ? frame.at<const std::uint8_t>(in) : nullptr,
                            .in_is_signed = in_is_signed,
                            .in_stride = in_stride,
                            .in_plane = in_plane,
                            .in_scale = grid_.scale,
                            .least = grid_.least,
                            .packed = frame.at<const float>(packed),
                            .out = out_bytes ? nullptr : frame.at<float>(out),
                            .out_stride = out_stride,
                            .epilogue = epilogue_.bind(frame, running, 0, out_bytes ? &out : nullptr),
                            .schedule = schedule};
    cpu::byte_conv(shape_, run, reinterpret_cast<float*>(frame.scratch), frame.pool);
  }

  Address in, packed, out;
  long in_stride = 0, in_plane = 1, out_stride = 0;
  bool in_bytes = false, in_is_signed = false, out_bytes = false;  // in memory

 private:
  ConvShape shape_;
  NumberGrid grid_;
  CpuEpilogue epilogue_;
};

std::string form_of(const ConvShape& s) {
  const std::string form =
      fmt::format("bytes {} {} {}, {} {}", s.Cin, s.Cout, s.groups, s.h.kernel, s.w.kernel);
  if (!s.transposed) return form;
  const auto axis = [](const ConvAxis& a) {
    return fmt::format(", {} {} {} {}", a.stride, a.dilation, a.pad_before, a.pad_after);
  };
  return form + " transposed" + axis(s.h) + axis(s.w);
}

std::optional<ByteConvCall> match(const Planner& planner, const Group& group) {
  auto call = ByteConvCall::match(planner, group);
  const bool fits =
      call && cpu::byte_conv_supports(call->conv.shape) && cpu::byte_conv_pays(call->conv.shape);
  return fits ? call : std::nullopt;
}

// The kernel reads a few channels of bytes as they lie: those of pictures are planes.
bool may_lie_in_planes(const ByteConvCall& call) {
  constexpr long most_channels = 4;
  return is_byte(call.conv.x->dtype()) && !call.conv.shape.transposed && call.conv.shape.Cin <= most_channels;
}
bool is_readable(const ByteConvCall& call, const Strided& image, const Order& order) {
  return row_stride(image, order) || (may_lie_in_planes(call) && image.is_contiguous());
}

void emit(Planner& planner, const Group& group, const ByteConvCall& call, CpuEpilogue epilogue,
          const CandidateInfo& info) {
  const Order& order = info.order;
  const ConvShape& shape = call.conv.shape;
  const PlannedTensor packed = packed_floats(
      planner, call.numbers.filters.first_weight(), form_of(shape) + " of " + call.numbers.filters.text(),
      cpu::byte_conv_packed_size(shape), [&](const Tensor&, float* to, ThreadPool& pool) {
        cpu::pack_byte_conv(shape, numbers_of(call.numbers.filters), to, pool);
      });
  const PlannedTensor in =
      planner.copied(call.conv.x, order, [&](const PlannedTensor& t) { return is_readable(call, t, order); });
  const PlannedTensor out = epilogue.place_result(planner, group, order);
  std::vector<PlannedTensor> reads = epilogue.reads();
  reads.insert(reads.end(), {in, packed});
  auto step = std::make_unique<ByteConvStep>(shape, call.numbers.image, std::move(epilogue));
  step->in = in.address();
  const auto stride = row_stride(in, order);
  step->in_stride = stride.value_or(1);
  if (!stride) step->in_plane = shape.in_pixels();
  step->in_bytes = is_byte(in.dtype());
  step->in_is_signed = in.dtype() == DType::i8;
  step->out_bytes = is_byte(out.dtype());
  step->packed = packed.address();
  step->out = out.address();
  step->out_stride = *row_stride(out, order);
  step->scratch_bytes = info.scratch_bytes;
  planner.emit(std::move(step), group.node(), std::move(reads), {out});
}

std::vector<Candidate> lower_byte_conv(const Planner& planner, const Group& group) {
  const auto call = match(planner, group);
  if (!call) return {};
  const ConvCall& conv = call->conv;
  const Order order = channels_last(conv.x->rank());
  const auto epilogue = find_epilogue(planner, group, *conv.anchor, conv.bias, order, {.bytes = true});
  if (!epilogue) return {};
  Work work = conv.work();
  work.arithmetic = ArithmeticKind::i8;
  work.bytes += epilogue->match().bytes() - 0.75 * bytes_of(conv.weights_value->type());
  const double copies =
      planner.estimate_copy(conv.x, [&](const Strided& t) { return is_readable(*call, t, order); });
  // Each number is written as a byte before.
  constexpr double cost_of_number = 8;
  const double numbers = bytes_of(conv.x->type()) / static_cast<double>(size_of(conv.x->dtype()));
  const double cost = cpu::byte_conv_cost(conv.shape) + cost_of_number * numbers;
  const auto scratch = static_cast<std::size_t>(cpu::byte_conv_scratch_size(conv.shape));
  const CandidateInfo info{
      .kernel = "byte" + epilogue->text(),
      .work = work,
      .seconds = copies + planner.estimate(cost, work.bytes),
      .order = order,
      .weights = form_of(conv.shape),
      .weight_bytes = sizeof(float) * static_cast<std::size_t>(cpu::byte_conv_packed_size(conv.shape)),
      .scratch_bytes = scratch * sizeof(float),
      .knobs = cpu::row_gemm_knobs};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call, *epilogue, info); }}};
}

bool takes_bytes(const Node& member, const Group& group, WeightStore& weights) {
  const auto call = ConvCall::match_shape(group);
  return call && call->anchor == &member && call->shape.flops() > 0 && cpu::byte_conv_supports(call->shape) &&
         cpu::byte_conv_pays(call->shape) && ByteConvNumbers::of(member, group, weights);
}

}  // namespace

std::vector<OpLowering> byte_conv_lowerings() {
  std::vector<OpLowering> all;
  for (const OpInfo* op : {&op_info<Conv>(), &op_info<ConvTranspose>()})
    all.push_back({.op = op, .lower = lower_byte_conv, .channels_last = true, .takes_bytes = takes_bytes});
  return all;
}

bool has_byte_kernel(const Planner& planner, const Group& group) {
  return !lower_byte_conv(planner, group).empty();
}

}  // namespace tenon
