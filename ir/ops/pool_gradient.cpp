// Gradients of the poolings.
#include <algorithm>

#include "ir/ops/conv_gradient.h"
#include "ir/ops/functions.h"
#include "ir/ops/pool.h"
#include "ir/ops/separable_gradient.h"

namespace tenon {
namespace {

// Each gradient goes to the place of its maximum.
Ref of_places(const Ref& x, const Ref& places, const Ref& grad) {
  const auto flat = [](const Ref& t) {
    return reshape(t, {t.shape()[0], t.shape()[1], numel(Shape(t.shape().begin() + 2, t.shape().end()))});
  };
  return reshape(scatter_sum(zeros_like(flat(x)), 2, flat(places), flat(grad)), x.shape());
}

Shape spatial_shape(const Dim& planes, const Shape& x) {
  Shape shape = {planes, 1};
  shape.insert(shape.end(), x.begin() + 2, x.end());
  return shape;
}

// The number of elements each window was divided by, [1, 1, ...] over the output places.
Ref window_sizes(const AvgPool& pool, const Ref& x, const Ref& y) {
  AvgPool count{
      .kernel = pool.kernel, .stride = pool.stride, .pad = pool.pad, .ceil = pool.ceil, .divisor = 1};
  Shape ones = spatial_shape(1, x.shape());
  if (pool.count_include_pad) {
    const Pads pads = spatial_pads(pool.pad, x.rank() - 2);
    for (std::size_t i = 0; i + 2 < ones.size(); ++i) ones[2 + i] = ones[2 + i] + pads.begin[i] + pads.end[i];
    count.pad = {0};
  }
  Ref sizes = tenon::apply(count, {full(std::move(ones), 1, x.dtype(), x.insertion_point())});
  for (std::size_t i = 2; i < y.rank();
       ++i)  // a padded input may have room for a window that starts in its end
    if (sizes.shape()[i] != y.shape()[i]) sizes = slice(sizes, static_cast<std::int64_t>(i), 0, y.shape()[i]);
  return sizes;
}

}  // namespace

std::vector<Ref> MaxPool::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  const MaxPoolIndices again{
      .kernel = kernel, .stride = stride, .pad = pad, .dilation = dilation, .ceil = ceil};
  return {of_places(in[0], apply_all(again, in)[1], grads[0])};
}

std::vector<Ref> MaxPoolIndices::gradient(RefSpan in, RefSpan out, RefSpan grads) const {
  return {of_places(in[0], out[1], grads[0])};
}

std::vector<Ref> AvgPool::gradient(RefSpan in, RefSpan out, RefSpan grads) const {
  const Ref& x = in[0];
  const std::size_t dims = x.rank() - 2;
  const Ref parts =
      divisor ? grads[0] / static_cast<double>(*divisor) : grads[0] / window_sizes(*this, x, out[0]);
  const Dim planes = x.shape()[0] * x.shape()[1];
  Shape window = {1, 1};
  for (const std::int64_t k : spatial("kernel", kernel, dims)) window.push_back(k);
  const Ref ones = full(std::move(window), 1, x.dtype(), x.insertion_point());
  const Ref flat = reshape(parts, spatial_shape(planes, parts.shape()));
  const Conv sliding{.stride = spatial("stride", stride, dims), .pad = pad};
  return {reshape(spread_windows(flat, ones, sliding, spatial_shape(planes, x.shape())), x.shape())};
}

std::vector<Ref> AdaptiveAvgPool::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  const Shape& shape = in[0].shape();
  if (std::all_of(output.begin(), output.end(), [](const Dim& d) { return d == 1; })) {
    const Dim count = numel(Shape(shape.begin() + 2, shape.end()));
    return {expand(grads[0] / dim_value(count, grads[0]), shape)};
  }
  return {separable_gradient(grads[0], shape, [&](const Ref& x, std::size_t axis, const Dim& size) {
    AdaptiveAvgPool along{.output = Shape(output.size(), Dim(1))};
    along.output[axis - 2] = size;
    return tenon::apply(along, {x});
  })};
}

}  // namespace tenon
