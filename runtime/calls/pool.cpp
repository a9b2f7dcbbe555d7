#include "runtime/calls/pool.h"

#include "ir/ops/pool.h"

namespace tenon {
namespace {

// The last spatial dim is w, the one before h, the one before that d.
PoolAxis& axis_of(PoolShape& shape, std::size_t dim, std::size_t dims) {
  PoolAxis* axes[] = {&shape.w, &shape.h, &shape.d};
  return *axes[dims - 1 - dim];
}

PoolShape shape_of(const Index& x) {
  PoolShape shape;
  shape.N = x[0];
  shape.C = x[1];
  for (std::size_t i = 0; i + 2 < x.size(); ++i) axis_of(shape, i, x.size() - 2).in = x[2 + i];
  return shape;
}

// Kernel, stride and padding of MaxPool and AvgPool.
template <class T>
void set_windows(PoolShape& shape, const T& op, std::size_t dims) {
  const Axes kernel = spatial("kernel", op.kernel, dims);
  const Axes stride = spatial("stride", op.stride, dims);
  const Pads pads = spatial_pads(op.pad, dims);
  for (std::size_t i = 0; i < dims; ++i) {
    PoolAxis& axis = axis_of(shape, i, dims);
    axis.kernel = kernel[i];
    axis.stride = stride[i];
    axis.pad = pads.begin[i];
    axis.pad_more = pads.end[i] - pads.begin[i];
    axis.ceil_mode = op.ceil;
    if constexpr (requires { op.dilation; }) axis.dilation = spatial("dilation", op.dilation, dims)[i];
  }
}

void set_output(PoolCall& call, const Shape& output) {
  for (std::size_t i = 0; i < output.size(); ++i) call.output[3 - output.size() + i] = output[i].value();
}

}  // namespace

std::optional<PoolCall> PoolCall::match(const Group& group) {
  const Node& node = group.node();
  if (group.members()[0] != &node) return std::nullopt;
  const std::size_t rank = node.input()->rank();
  if (rank < 3 || rank > 5) return std::nullopt;
  const Index x = eval(node.input()->shape(), {});
  PoolCall call{.x = node.input(), .shape = shape_of(x)};
  if (const auto* mean = node.as<AdaptiveAvgPool>()) {
    call.kind = Kind::adaptive_average;
    set_output(call, mean->output);
  } else if (const auto* most = node.as<AdaptiveMaxPool>()) {
    call.kind = Kind::adaptive_max;
    set_output(call, most->output);
  } else if (const auto* most_places = node.as<AdaptiveMaxPoolIndices>()) {
    call.kind = Kind::adaptive_max;
    set_output(call, most_places->output);
  } else if (const auto* max = node.as<MaxPool>()) {
    set_windows(call.shape, *max, rank - 2);
  } else if (const auto* max_places = node.as<MaxPoolIndices>()) {
    set_windows(call.shape, *max_places, rank - 2);
  } else {
    const auto* average = node.as<AvgPool>();
    call.kind = Kind::average;
    call.count_include_pad = average->count_include_pad;
    call.divisor = static_cast<long>(average->divisor.value_or(0));
    set_windows(call.shape, *average, rank - 2);
  }
  return call;
}

Work PoolCall::work() const {
  const bool adaptive = kind == Kind::adaptive_average || kind == Kind::adaptive_max;
  const std::int64_t pixels = adaptive ? output[0] * output[1] * output[2] : shape.out_pixels();
  const std::int64_t window = adaptive ? shape.in_pixels() / std::max<std::int64_t>(pixels, 1)
                                       : shape.d.kernel * shape.h.kernel * shape.w.kernel;
  const double element = static_cast<double>(size_of(x->dtype()));
  return {.flops = static_cast<double>(shape.N * pixels * shape.C * window),
          .bytes = bytes_of(x->type()) + static_cast<double>(shape.N * pixels * shape.C) * element,
          .batch = shape.N,
          .rows = pixels,
          .columns = shape.C,
          .depth = window};
}

}  // namespace tenon
