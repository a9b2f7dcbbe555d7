#include "converter/onnx/pooling.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "converter/onnx/windows.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/conv.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/pool.h"

namespace tenon::converter::onnx {

namespace {

/// Places in the whole tensor, in row-major or column-major order, from those within a channel's image.
Ref whole_places(const Call& call, const Ref& x, Ref places) {
  const Dim image = numel(Shape(x.shape().begin() + 2, x.shape().end()));
  if (call.integer("storage_order", 0) != 0) {
    if (x.rank() != 4) throw unsupported("storage_order of {} spatial axes", x.rank() - 2);
    const Ref wide = dim_value(x.shape()[3], places), high = dim_value(x.shape()[2], places);
    places = apply(Remainder{}, {places, wide}) * high + apply(FloorDiv{}, {places, wide});
  }
  Shape along(x.rank(), Dim(1));
  along[0] = x.shape()[0];
  along[1] = x.shape()[1];
  const Ref rows = iota(x.shape()[0] * x.shape()[1], call.build.insertion_point());
  return places + reshape(rows * dim_value(image, rows), along);
}

Ref max_pooled(const Call& call, const Ref& x) {
  const Windows w = windows(call, x, {});
  return apply(MaxPool{.kernel = w.kernel,
                       .stride = w.stride,
                       .pad = shortened(w.pad),
                       .dilation = w.dilation,
                       .ceil = call.integer("ceil_mode", 0) != 0},
               {x});
}

Operands max_pool(Call& call) {
  const Ref x = call.tensor(0);
  if (!call.wants(1)) return {max_pooled(call, x)};
  const Windows w = windows(call, x, {});
  const bool ceil = call.integer("ceil_mode", 0) != 0;
  const auto out = apply_all(MaxPoolIndices{.kernel = w.kernel,
                                            .stride = w.stride,
                                            .pad = shortened(w.pad),
                                            .dilation = w.dilation,
                                            .ceil = ceil},
                             std::array{x});
  return {out.at(0), whole_places(call, x, out.at(1))};
}

/// The sum over each window, tap by tap: for windows with gaps.
Ref sum_of_taps(const Ref& x, const Windows& w, bool ceil) {
  const std::size_t n = w.kernel.size();
  Shape pads(x.rank() * 2, Dim(0));
  Axes count(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Dim windows_along = window_count(x.shape()[i + 2], {.kernel = Dim(w.kernel[i]),
                                                              .stride = w.stride[i],
                                                              .begin = w.pad[i],
                                                              .end = w.pad[i + n],
                                                              .dilation = w.dilation[i],
                                                              .ceil = ceil});
    if (!windows_along.is_known() || !x.shape()[i + 2].is_known())
      throw unsupported("pooling windows with gaps along an axis of unknown size");
    count[i] = windows_along.value();
    const std::int64_t end = (count[i] - 1) * w.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1;
    pads[i + 2] = Dim(w.pad[i]);
    pads[x.rank() + i + 2] = Dim(std::max<std::int64_t>(end - x.shape()[i + 2].value() - w.pad[i], 0));
  }
  const Ref padded = pad(x, pads);
  Ref total;
  for_each_index(w.kernel, [&](std::span<const std::int64_t> tap) {
    Ref part = padded;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t start = tap[i] * w.dilation[i];
      part = slice(part, static_cast<std::int64_t>(i) + 2, Dim(start),
                   Dim(start + (count[i] - 1) * w.stride[i] + 1), w.stride[i]);
    }
    total = total ? total + part : part;
  });
  return total;
}

bool has_gaps(const Windows& w) {
  for (std::size_t i = 0; i < w.kernel.size(); ++i)
    if (w.dilation[i] != 1) return true;
  return false;
}

}  // namespace

Ref average_pooled(const Call& call, const Ref& x) {
  const Windows w = windows(call, x, {});
  const bool ceil = call.integer("ceil_mode", 0) != 0,
             counts_pads = call.integer("count_include_pad", 0) != 0;
  if (!has_gaps(w))
    return apply(AvgPool{.kernel = w.kernel,
                         .stride = w.stride,
                         .pad = shortened(w.pad),
                         .ceil = ceil,
                         .count_include_pad = counts_pads},
                 {x});
  Ref ones = full(x.shape(), 1, x.dtype(), call.build.insertion_point());
  Windows counted = w;
  if (counts_pads) {
    Shape pads(x.rank() * 2, Dim(0));
    for (std::size_t i = 0; i < w.kernel.size(); ++i) {
      pads[i + 2] = Dim(w.pad[i]);
      pads[x.rank() + i + 2] = Dim(w.pad[i + w.kernel.size()]);
    }
    ones = pad(ones, pads, 1);
    counted.pad.assign(counted.pad.size(), 0);
  }
  return sum_of_taps(x, w, ceil) / sum_of_taps(ones, counted, ceil);
}

namespace {

Operands average_pool(Call& call) { return {average_pooled(call, call.tensor(0))}; }

Operands lp_pool(Call& call) {
  const Ref x = call.tensor(0);
  const Windows w = windows(call, x, {});
  const double p = static_cast<double>(call.integer("p", 2));
  const bool ceil = call.integer("ceil_mode", 0) != 0;
  const Ref powers = pow(abs(x), x.literal(p));
  const Ref sums = has_gaps(w) ? sum_of_taps(powers, w, ceil)
                               : apply(AvgPool{.kernel = w.kernel,
                                               .stride = w.stride,
                                               .pad = shortened(w.pad),
                                               .ceil = ceil,
                                               .divisor = 1},
                                       {powers});
  return {pow(sums, sums.literal(1 / p))};
}

Axes spatial_axes(const Ref& x) {
  Axes axes;
  for (std::size_t i = 2; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

}  // namespace

Ref global_average_pooled(const Ref& x) {
  const std::size_t n = spatial_rank(x);
  if (n > 3) return mean(x, spatial_axes(x), true);
  return apply(AdaptiveAvgPool{.output = Shape(n, Dim(1))}, {x});
}

namespace {

Operands global_average_pool(Call& call) { return {global_average_pooled(call.tensor(0))}; }
Operands global_max_pool(Call& call) {
  const Ref x = call.tensor(0);
  spatial_rank(x);
  return {amax(x, spatial_axes(x), true)};
}
Operands global_lp_pool(Call& call) {
  const Ref x = call.tensor(0);
  spatial_rank(x);
  const double p = static_cast<double>(call.integer("p", 2));
  return {pow(sum(pow(abs(x), x.literal(p)), spatial_axes(x), true), x.literal(1 / p))};
}

/// Values put back to the places that a max pooling took them from.
Operands max_unpool(Call& call) {
  const Ref x = call.tensor(0), places = cast(DType::i64, call.tensor(1));
  const Windows w = windows(call, x, {});
  const std::size_t n = w.kernel.size();
  Shape small = {x.shape()[0], x.shape()[1]};
  for (std::size_t i = 0; i < n; ++i)
    small.push_back((x.shape()[i + 2] - 1) * Dim(w.stride[i]) - Dim(w.pad[i] + w.pad[i + n]) +
                    Dim(w.kernel[i]));
  const Shape shape = call.has(2) ? Shape(call.sizes(2)) : small;
  if (shape.size() != x.rank())
    throw error("an output shape of rank {} for a tensor of rank {}", shape.size(), x.rank());
  // The places count in the tensor without what the given shape adds.
  const Ref zero = full({numel(small)}, 0, x.dtype(), call.build.insertion_point());
  const Ref flat = reshape(x, {numel(x.shape())});
  const Ref y = reshape(apply(Scatter{.axis = 0}, {zero, reshape(places, {numel(x.shape())}), flat}), small);
  Shape more(x.rank() * 2, Dim(0));
  for (std::size_t i = 0; i < x.rank(); ++i) more[x.rank() + i] = shape[i] - small[i];
  return {pad(y, more)};
}

Operands max_pool_channels_last(Call& call) {
  return {channels_last(max_pooled(call, channels_first(call.tensor(0))))};
}

}  // namespace

std::span<const OnnxEntry> pooling_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"AveragePool", average_pool},
      OnnxEntry{"GlobalAveragePool", global_average_pool},
      OnnxEntry{"GlobalLpPool", global_lp_pool},
      OnnxEntry{"GlobalMaxPool", global_max_pool},
      OnnxEntry{"LpPool", lp_pool},
      OnnxEntry{"MaxPool", max_pool},
      OnnxEntry{"MaxUnpool", max_unpool},
      OnnxEntry{"com.microsoft.NhwcMaxPool", max_pool_channels_last},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
