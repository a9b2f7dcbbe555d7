#include "pipeline/calibration/net_writer.h"

#include <cmath>

#include "ir/ops/activation.h"
#include "ir/ops/attention.h"
#include "ir/ops/conv.h"
#include "ir/ops/norm.h"
#include "ir/ops/pool.h"
#include "runtime/inputs.h"

namespace tenon {
namespace {

std::int64_t last(const Ref& x) { return x.shape().back().value(); }

std::int64_t product(const Axes& axes) {
  std::int64_t all = 1;
  for (const std::int64_t axis : axes) all *= axis;
  return all;
}

Shape kernel_shape(std::int64_t outer, std::int64_t inner, const Axes& kernel) {
  Shape shape{outer, inner};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  return shape;
}

}  // namespace

Filter filter(std::int64_t kernel, std::int64_t stride, std::int64_t groups) {
  return {.kernel = {kernel, kernel}, .stride = {stride}, .pad = {kernel / 2}, .groups = groups};
}

NetWriter::NetWriter(std::string_view name, DType dtype)
    : graph_(std::make_unique<Graph>(std::string(name))),
      point_(std::make_unique<InsertionPoint>(InsertionPoint{.region = &graph_->body()})),
      dtype_(dtype) {}

Ref NetWriter::input(Shape shape) { return input(std::move(shape), dtype_); }

Ref NetWriter::input(Shape shape, DType dtype) {
  return {graph_->body().add_parameter(Type{dtype, std::move(shape)}, fmt::format("x{}", inputs_++)),
          *point_};
}

Ref NetWriter::weight(Shape shape, std::int64_t fan_in) {
  // A thousand random numbers, over and over, from another one on in each weight.
  static const Tensor numbers = random_tensor(DType::f32, {1021}, {}, 1);
  Tensor data = Tensor::empty(DType::f32, eval(shape, {}));
  const float scale = 1 / std::sqrt(static_cast<float>(fan_in));
  std::size_t next = 37 * static_cast<std::size_t>(++weights_);
  const std::span<const float> random(numbers.data<float>(), 1021);
  for (float& x : std::span(data.mutable_data<float>(), static_cast<std::size_t>(data.numel())))
    x = scale * random[next++ % random.size()];
  if (dtype_ != DType::f32) data = data.to(dtype_);
  return {graph_->add_weight(fmt::format("w{}", weights_), std::move(data)), *point_};
}

Ref NetWriter::conv(const Ref& x, std::int64_t channels, const Filter& w) {
  const std::int64_t depth = x.shape()[1].value() / w.groups;
  return apply(
      Conv{.stride = w.stride, .pad = w.pad, .dilation = w.dilation, .groups = w.groups},
      {x, weight(kernel_shape(channels, depth, w.kernel), depth * product(w.kernel)), weight({channels})});
}

Ref NetWriter::conv_transpose(const Ref& x, std::int64_t channels, const Filter& w) {
  const std::int64_t depth = x.shape()[1].value();
  return apply(ConvTranspose{.stride = w.stride, .pad = w.pad},
               {x, weight(kernel_shape(depth, channels, w.kernel), depth), weight({channels})});
}

Ref NetWriter::linear(const Ref& x, std::int64_t size, bool bias) {
  const Ref w = weight({size, last(x)}, last(x));
  return bias ? tenon::linear(x, w, weight({size})) : tenon::linear(x, w);
}

Ref NetWriter::layer_norm(const Ref& x) {
  return apply(LayerNorm{}, {x, weight({last(x)}), weight({last(x)})});
}

Ref NetWriter::rms_norm(const Ref& x) { return apply(RmsNorm{}, {x, weight({last(x)})}); }

Ref NetWriter::group_norm(const Ref& x, std::int64_t groups) {
  const Dim channels = x.shape()[1];
  return apply(GroupNorm{.groups = groups}, {x, weight({channels}), weight({channels})});
}

Ref NetWriter::channel_norm(const Ref& x) {
  Shape shape(x.rank() - 1, 1);
  shape[0] = x.shape()[1];
  return x * weight(shape) + weight(shape);
}

Ref NetWriter::attention(const Ref& x, std::int64_t heads, bool causal, const Ref& mask) {
  const std::int64_t channels = last(x);
  const auto of_heads = [&] { return split_heads(linear(x, channels), heads); };
  std::vector<Ref> in{of_heads(), of_heads(), of_heads()};
  if (mask) in.push_back(mask);
  return linear(join_heads(tenon::apply(Attention{.causal = causal}, in)), channels);
}

std::unique_ptr<Graph> NetWriter::finish(std::initializer_list<Ref> results) {
  for (const Ref& r : results) graph_->body().add_result(r.value());
  return std::move(graph_);
}

Ref split_heads(const Ref& x, std::int64_t heads) {
  return permute(reshape(x, {x.shape()[0], x.shape()[1], heads, last(x) / heads}), {0, 2, 1, 3});
}

Ref join_heads(const Ref& x) {
  const std::int64_t channels = x.shape()[1].value() * last(x);
  return reshape(permute(x, {0, 2, 1, 3}), {x.shape()[0], x.shape()[2], channels});
}

Ref gelu(const Ref& x) { return apply(Gelu{}, {x}); }

Ref avg_pool(const Ref& x, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return apply(AvgPool{.kernel = {kernel}, .stride = {stride}, .pad = {pad}}, {x});
}

Ref channels_last(const Ref& x) { return permute(x, {0, 2, 3, 1}); }

}  // namespace tenon
