// Convolutions on a GPU, as products whose left side are windows, with all that their group does before and
// behind them.
#include <algorithm>

#include "ir/ops/conv.h"
#include "runtime/calls/conv.h"
#include "runtime/gpu/library_convolution.h"
#include "runtime/gpu/product_candidates.h"

namespace tenon::gpu {
namespace {

// Rows of the packed weights begin at multiples of 16 bytes, whatever the type.
std::int64_t packed_row(std::int64_t depth, DType dtype) {
  const std::int64_t elements = size_of(dtype) == 1 ? 16 : 8;
  return (depth + elements - 1) / elements * elements;
}

// Of group g, [columns, taps * channels]: the channel moves fastest, and rows are filled up with zeros.
void write_rows(const ConvShape& s, const Tensor& weights, std::byte* target) {
  const Tensor dense = weights.contiguous();
  const std::size_t bytes = size_of(dense.dtype());
  const std::int64_t taps = s.taps(), channels = s.Cin / s.groups, columns = s.Cout / s.groups;
  const std::int64_t row = packed_row(taps * channels, dense.dtype());
  std::fill_n(target, static_cast<std::size_t>(s.Cout * row) * bytes, std::byte{0});
  for (std::int64_t g = 0; g < s.groups; ++g)
    for (std::int64_t j = 0; j < columns; ++j) {
      std::byte* to = target + static_cast<std::size_t>((g * columns + j) * row) * bytes;
      for (std::int64_t tap = 0; tap < taps; ++tap)
        for (std::int64_t c = 0; c < channels; ++c, to += bytes) {
          const std::int64_t place = s.transposed ? ((g * channels + c) * columns + j) * taps + tap
                                                  : ((g * columns + j) * channels + c) * taps + tap;
          std::copy_n(dense.bytes() + static_cast<std::size_t>(place) * bytes, bytes, to);
        }
    }
}

PlannedTensor rows_of_weights(Planner& planner, const ConvCall& call) {
  const ConvShape& s = call.shape;
  const std::string form =
      fmt::format("rows {} {} {} {} {}", s.transposed, s.Cin, s.Cout, s.groups, s.taps());
  const Index shape{s.Cout, packed_row(s.Cin / s.groups * s.taps(), call.weights.dtype())};
  const Tensor packed = planner.weights().packed(
      call.weights, form, static_cast<std::size_t>(numel(shape)) * size_of(call.weights.dtype()),
      [&](const Tensor& w, std::byte* to) { write_rows(s, w, to); });
  return planner.constant(
      Tensor::view_of(packed.storage(), call.weights.dtype(), shape, contiguous_strides(shape), 0));
}

// The axes of weights such that the rows of rows_of_weights lie one behind the other: the channels of the
// input last.
Order rows_order(const ConvShape& shape, std::size_t rank) {
  Order order = channels_last(rank);
  if (shape.transposed) std::swap(order.front(), order.back());
  return order;
}

// Weights that the graph computes are copied to such rows, unfilled. In groups of a transposed convolution no
// order of the axes makes rows.
PlannedTensor rows_of_computed(Planner& planner, const ConvCall& call) {
  const PlannedTensor weights =
      planner.dense(call.weights_value, rows_order(call.shape, call.weights_value->rank()));
  const Index shape{call.shape.Cout, call.shape.Cin / call.shape.groups * call.shape.taps()};
  return {weights.buffer(), weights.permute(rows_order(call.shape, weights.rank())).view_as(shape)};
}

bool has_rows(const ConvCall& call) {
  return call.weights.defined() || !call.shape.transposed || call.shape.groups == 1;
}

// Strides of pixels as rows of the input's matrix, and of channels as its columns.
void number_pixels(Product::Windows& w) {
  w.channel = w.spatial[2] = 1;
  w.spatial[1] = w.shape.w.in;
  w.spatial[0] = w.shape.h.in * w.spatial[1];
  w.image = w.shape.d.in * w.spatial[0];
}

Sides place_conv(Planner& planner, const Parts& parts, const ConvCall& call) {
  const ConvShape& s = call.shape;
  LeftSide left = parts.left(planner, call.x, channels_last(call.x->rank()));
  const Strided& x = left.layout;
  const std::int64_t depth = s.Cin / s.groups * s.taps(), columns = s.Cout / s.groups;
  Product::Windows windows{.shape = s, .image = x.strides()[0], .channel = x.strides()[1]};
  const std::size_t axes = x.rank() - 2;
  for (std::size_t i = 0; i < axes; ++i) windows.spatial[3 - axes + i] = x.strides()[2 + i];
  if (!left.prologue.empty()) number_pixels(windows);
  const PlannedTensor right =
      call.weights.defined() ? rows_of_weights(planner, call) : rows_of_computed(planner, call);
  const std::int64_t row = right.strides()[0];
  Product product{.left_type = x.dtype(),
                  .right_type = right.dtype(),
                  .rows = s.N * s.out_pixels(),
                  .columns = columns,
                  .depth = depth,
                  .right_row = 1,
                  .right_column = row,
                  .left_offset = x.offset(),
                  .right_offset = right.offset(),
                  .windows = {windows},
                  .prologue = left.prologue};
  if (left.prologue.empty()) product.batch = {{s.groups, s.Cin / s.groups * x.strides()[1], columns * row}};
  return {std::move(left.buffers), right, std::move(product)};
}

std::vector<Candidate> lower_conv(const Planner& planner, const Group& group) {
  const Parts parts = Parts::of(group);
  const auto call = ConvCall::match_any_weights(planner, parts.rest);
  if (!call || !multiplies(call->x->dtype(), call->weights_value->dtype()) || !has_rows(*call)) return {};
  if (numel(call->weights_value->shape()) == 0) return {};
  if (numel(call->anchor->output()->shape()) == 0) return {};
  if (parts.prologue && call->shape.groups != 1) return {};
  auto candidates = product_candidates(planner, parts, *call->anchor, call->bias,
                                       channels_last(call->x->rank()), call->work(), "windows product",
                                       [parts, call](Planner& p) { return place_conv(p, parts, *call); });
  if (!parts.prologue) add_library_convolution(planner, group, *call, candidates);
  return candidates;
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_convolution_lowerings() {
  return {{&op_info<Conv>(), gpu::lower_conv, true}, {&op_info<ConvTranspose>(), gpu::lower_conv, true}};
}

}  // namespace tenon
