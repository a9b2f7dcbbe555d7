#include "runtime/gpu/thin_convolution.h"

#include <algorithm>

#include "kernels/gpu/loop_faults.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/product_source.h"
#include "kernels/gpu/thin_convolution_source.h"
#include "runtime/calls/epilogue.h"
#include "runtime/gpu/computed_weights.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/loop.h"
#include "runtime/gpu/loop_fault.h"

namespace tenon::gpu {
namespace {

// [taps, channels of a group, channels of the result]
void write_by_taps(const ConvShape& s, const Tensor& weights, std::byte* to) {
  const Tensor dense = weights.contiguous();
  const std::size_t bytes = size_of(dense.dtype());
  const std::int64_t taps = s.taps(), depths = s.Cin / s.groups, columns = s.Cout / s.groups;
  for (std::int64_t tap = 0; tap < taps; ++tap)
    for (std::int64_t k = 0; k < depths; ++k)
      for (std::int64_t channel = 0; channel < s.Cout; ++channel, to += bytes) {
        const std::int64_t g = channel / columns, j = channel % columns;
        const std::int64_t place = s.transposed ? ((g * depths + k) * columns + j) * taps + tap
                                                : (channel * depths + k) * taps + tap;
        std::copy_n(dense.bytes() + static_cast<std::size_t>(place) * bytes, bytes, to);
      }
}

PlannedTensor weights_by_taps(Planner& planner, const ConvCall& call) {
  const ConvShape& s = call.shape;
  const Index shape{s.taps(), s.Cin / s.groups, s.Cout};
  if (!call.weights.defined()) {
    using enum WeightAxis;
    return computed_weights(planner, call, {taps, depths, groups, columns}).view_as(shape);
  }
  const DType dtype = call.weights.dtype();
  const std::string form =
      fmt::format("by taps {} {} {} {} {}", s.transposed, s.Cin, s.Cout, s.groups, s.taps());
  const Tensor packed =
      planner.weights().packed(call.weights, form, static_cast<std::size_t>(numel(shape)) * size_of(dtype),
                               [&](const Tensor& w, std::byte* to) { write_by_taps(s, w, to); });
  return planner.constant(Tensor::view_of(packed.storage(), dtype, shape, contiguous_strides(shape), 0));
}

void emit_thin(Planner& planner, const Group& group, const ConvCall& call, TileProgram tile) {
  const Order order = channels_last(call.x->rank());
  const PlannedTensor x =
      planner.copied(call.x, order, [](const PlannedTensor& t) { return t.strides()[1] == 1; });
  const PlannedTensor weights = weights_by_taps(planner, call);
  const PlannedTensor result = planner.assignment().assign(
      group.node().output(), order, [&](const PlannedTensor& t) { return row_stride(t, order).has_value(); });
  const std::int64_t stride = *row_stride(result, order);
  LoopProgram& epilogue = tile.program;
  epilogue.shape.operands.back().strides = {stride, 1};
  epilogue.code.operands.back().strides = {class_of(stride), Stride::one};

  ThinConvolution convolution{.x_type = x.dtype(),
                              .weights_type = weights.dtype(),
                              .sum_type = *product_type(x.dtype(), weights.dtype()),
                              .shape = call.shape,
                              .image = x.strides()[0]};
  const std::size_t axes = x.rank() - 2;
  for (std::size_t i = 0; i < axes; ++i) convolution.spatial[3 - axes + i] = x.strides()[2 + i];
  ThinKernel kernel = thin_kernel(convolution, epilogue);
  std::vector<PlannedTensor> reads{x, weights};
  for (const Value* operand : tile.operands) reads.push_back(planner.assignment().at(operand));
  std::vector<PlannedTensor> buffers = reads;
  buffers.push_back(result);
  emit(planner, group.node(),
       {.name = {},
        .kernel = {.source = std::move(kernel.source),
                   .name = "thin",
                   .size = blocks_of(kernel.blocks, kernel.threads),
                   .buffers = std::move(buffers),
                   .arguments = {std::move(kernel.arguments), loop_arguments(epilogue, tile_form)},
                   .may_fault = reports_faults(epilogue.code),
                   .complaint = loop_error},
        .reads = std::move(reads),
        .writes = {result}});
}

}  // namespace

std::optional<Candidate> thin_convolution(const Planner& planner, const Group& group, const ConvCall& call) {
  constexpr std::size_t max_buffers = 64;
  const ConvShape& s = call.shape;
  if (s.groups == 1) return std::nullopt;
  const Order order = channels_last(call.x->rank());
  const auto tile = TileProgram::match(planner, group, *call.anchor, call.bias, order);
  if (!tile || tile->operands.size() + 3 > max_buffers) return std::nullopt;
  Work work = call.work();
  work.bytes += tile->bytes();
  work.arithmetic = {};         // it runs on ordinary lanes
  constexpr double slower = 4;  // an ordinary unit that reads its operands, beside what estimates have
  const bool has_tile = group.results()[0] != call.anchor->output() || call.bias;
  const CandidateInfo info{.kernel = std::string("thin convolution") + (has_tile ? "+tile" : ""),
                           .work = work,
                           .seconds = planner.estimate(slower * work.flops, work.bytes),
                           .order = order};
  return Candidate{info, [call, tile = *tile](Planner& p, const Group& g) { emit_thin(p, g, call, tile); }};
}

}  // namespace tenon::gpu
