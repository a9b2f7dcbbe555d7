#include "runtime/calls/conv.h"

#include "runtime/arithmetic.h"
#include "runtime/byte_images.h"
#include "runtime/calls/epilogue.h"
#include "runtime/widen.h"

namespace tenon {
namespace {

// The last spatial dim is w, the one before h, the one before that d.
ConvAxis& axis_of(ConvShape& shape, std::size_t dim, std::size_t dims) {
  ConvAxis* axes[] = {&shape.w, &shape.h, &shape.d};
  return *axes[dims - 1 - dim];
}

template <class T>
ConvShape shape_of(const T& op, const Index& x, const Index& weight) {
  constexpr bool transposed = std::is_same_v<T, ConvTranspose>;
  const std::size_t dims = x.size() - 2;
  ConvShape shape;
  shape.N = x[0];
  shape.Cin = x[1];
  shape.Cout = transposed ? weight[1] * op.groups : weight[0];
  shape.groups = op.groups;
  shape.transposed = transposed;
  const Axes stride = spatial("stride", op.stride, dims);
  const Axes dilation = spatial("dilation", op.dilation, dims);
  const Pads pads = spatial_pads(op.pad, dims);
  for (std::size_t i = 0; i < dims; ++i) {
    ConvAxis& axis = axis_of(shape, i, dims);
    axis.in = x[2 + i];
    axis.kernel = weight[2 + i];
    axis.stride = stride[i];
    axis.dilation = dilation[i];
    axis.pad_before = pads.begin[i];
    axis.pad_after = pads.end[i];
    if constexpr (transposed) axis.output_padding = spatial("output_pad", op.output_pad, dims)[i];
  }
  return shape;
}

}  // namespace

ConvShape conv_shape(const Conv& op, const Index& x, const Index& weights) {
  return shape_of(op, x, weights);
}
ConvShape conv_shape(const ConvTranspose& op, const Index& x, const Index& weights) {
  return shape_of(op, x, weights);
}

std::optional<ConvCall> ConvCall::match(const Planner& planner, const Group& group) {
  auto call = match_any_weights(planner, group);
  if (call && !call->weights.defined()) return std::nullopt;
  return call;
}

std::optional<ConvCall> ConvCall::match_any_weights(const Planner& planner, const Group& group) {
  const Node* anchor = find_anchor(group, op_info<Conv>());
  if (!anchor) anchor = find_anchor(group, op_info<ConvTranspose>());
  if (!anchor) return std::nullopt;
  auto call = call_of(group, *anchor, group.outer(anchor->input(0)));
  if (call) call->take_weights(planner);
  return call;
}

std::optional<ConvCall> ConvCall::match_halves(const Planner& planner, const Group& group) {
  for (const Node* member : group.members()) {
    if (!member->is<Conv>() && !member->is<ConvTranspose>()) continue;
    const Value* operands[2];
    for (const std::size_t i : {0u, 1u}) {
      const Value* const read = member->input(i);
      operands[i] = group.contains(read) ? widened_for(*member, i) : read;
      if (!operands[i] || group.contains(operands[i])) return std::nullopt;
    }
    auto call = call_of(group, *member, group.outer(operands[0]));
    if (!call) return std::nullopt;
    call->weights_value = group.outer(operands[1]);
    call->take_weights(planner);
    return call;
  }
  return std::nullopt;
}

std::optional<ConvCall> ConvCall::match_shape(const Group& group) {
  const Node* anchor = find_anchor(group, op_info<Conv>());
  if (!anchor) anchor = find_anchor(group, op_info<ConvTranspose>());
  if (anchor) return call_of(group, *anchor, group.outer(anchor->input(0)));
  for (const Node* member : group.members()) {
    if (!member->is<Conv>() && !member->is<ConvTranspose>()) continue;
    const auto made = ScaledBytes::of(member->input(0));
    if (!made || group.contains(made->bytes)) return std::nullopt;
    return call_of(group, *member, group.outer(made->bytes));
  }
  return std::nullopt;
}

std::optional<ConvCall> ConvCall::call_of(const Group& group, const Node& anchor, const Value* x) {
  ConvCall call{.anchor = &anchor, .x = x};
  call.weights_value = group.outer(anchor.input(1));
  const std::size_t rank = call.x->rank();
  if (rank < 3 || rank > 5) return std::nullopt;
  if (anchor.inputs().size() > 2) call.bias = anchor.input(2);
  const Index sizes = eval(call.x->shape(), {});
  const Index weights = eval(call.weights_value->shape(), {});
  const auto* conv = anchor.as<Conv>();
  call.shape =
      conv ? conv_shape(*conv, sizes, weights) : shape_of(*anchor.as<ConvTranspose>(), sizes, weights);
  return call;
}

void ConvCall::take_weights(const Planner& planner) {
  if (const auto known = planner.stored_weight(weights_value)) weights = *known;
}

Work ConvCall::work() const {
  Work work{
      .flops = shape.flops(),
      .bytes = bytes_of(x->type()) + bytes_of(weights_value->type()) + bytes_of(anchor->output()->type()),
      .batch = shape.groups,
      .rows = shape.N * (shape.transposed ? shape.in_pixels() : shape.out_pixels()),
      .columns = shape.Cout / shape.groups,
      .depth = shape.Cin / shape.groups * shape.taps()};
  const DType right = weights.defined() ? weights.dtype() : weights_value->dtype();
  const bool is_product = shape.groups == 1 || shape.groups < shape.Cin;  // a depthwise one is none
  if (is_product) work.arithmetic = arithmetic_of(x->dtype(), right);
  return work;
}

}  // namespace tenon
