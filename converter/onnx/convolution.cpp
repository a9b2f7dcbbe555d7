// Convolutions and pooling.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/conv.h"
#include "ir/ops/create.h"
#include "ir/ops/index.h"
#include "ir/ops/pool.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"

namespace tenon::converter::onnx {

namespace {

std::size_t spatial_rank(const Ref& x) {
  if (x.rank() < 3) throw error("a tensor of rank {}, which has no spatial axes", x.rank());
  return x.rank() - 2;
}

/// Windows as the attributes say, one number for each spatial axis.
struct Windows {
  Axes kernel, stride, dilation;
  Axes pad;  // before each, then after each
};

Axes checked(Axes values, std::size_t count, std::string_view what) {
  if (values.size() != count) throw error("its {} have {} elements, not {}", what, values.size(), count);
  return values;
}

/// What has to be padded in all for ceil(size / stride) windows.
std::int64_t padding_for_same(const Dim& size, std::int64_t kernel, std::int64_t stride,
                              std::int64_t dilation) {
  const std::int64_t reach = (kernel - 1) * dilation + 1;
  if (stride == 1) return reach - 1;
  if (!size.is_known())
    throw unsupported("auto_pad with a stride of {} along an axis of unknown size ({})", stride, size.str());
  const std::int64_t count = (size.value() + stride - 1) / stride;
  return std::max<std::int64_t>((count - 1) * stride + reach - size.value(), 0);
}

Windows windows(const Call& call, const Ref& x, Axes kernel) {
  const std::size_t n = spatial_rank(x);
  Windows w{checked(call.integers("kernel_shape", std::move(kernel)), n, "kernel_shape"),
            checked(call.integers("strides", Axes(n, 1)), n, "strides"),
            checked(call.integers("dilations", Axes(n, 1)), n, "dilations"),
            checked(call.integers("pads", Axes(n * 2, 0)), n * 2, "pads")};
  for (std::size_t i = 0; i < n; ++i)
    if (w.kernel[i] < 1 || w.stride[i] < 1 || w.dilation[i] < 1 || w.pad[i] < 0 || w.pad[i + n] < 0)
      throw error("its kernel_shape, strides and dilations are to be positive, its pads not negative");
  const std::string how = call.text("auto_pad", "NOTSET");
  if (how == "VALID") w.pad.assign(n * 2, 0);
  if (how == "SAME_UPPER" || how == "SAME_LOWER")
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t all = padding_for_same(x.shape()[i + 2], w.kernel[i], w.stride[i], w.dilation[i]);
      const std::int64_t less = all / 2, more = all - less;
      w.pad[i] = how == "SAME_UPPER" ? less : more;
      w.pad[i + n] = how == "SAME_UPPER" ? more : less;
    }
  return w;
}

Axes kernel_of(const Ref& weight) {
  Axes kernel;
  for (std::size_t i = 2; i < weight.rank(); ++i) {
    if (!weight.shape()[i].is_known()) throw unsupported("a kernel of unknown size");
    kernel.push_back(weight.shape()[i].value());
  }
  return kernel;
}

/// One number for all where they are the same, as PyTorch's reader writes them.
Axes shortened(Axes values) {
  if (values.size() % 2 == 0) {
    const Axes first(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    if (Axes(values.begin() + static_cast<std::ptrdiff_t>(first.size()), values.end()) == first) return first;
  }
  return values;
}

/// One number for all axes where they agree: a 3 x 3 convolution with pad=1 reads the same in every format.
Axes for_all(Axes values) {
  values = shortened(std::move(values));
  if (std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == values[0]; }))
    values.resize(1);
  return values;
}

std::vector<Ref> with_bias(const Ref& x, const Ref& weight, const Ref& bias) {
  std::vector<Ref> operands = {x, weight};
  if (bias) operands.push_back(bias);
  return operands;
}

Operands convolution(Call& call) {
  const Ref x = call.tensor(0), weight = call.tensor(1);
  if (weight.rank() != x.rank())
    throw error("a weight of rank {} for a tensor of rank {}", weight.rank(), x.rank());
  const Windows w = windows(call, x, kernel_of(weight));
  const Conv op{.stride = for_all(w.stride),
                .pad = for_all(w.pad),
                .dilation = for_all(w.dilation),
                .groups = call.integer("group", 1)};
  return {tenon::apply(op, with_bias(x, weight, call.optional_tensor(2)))};
}

/// The full result, cut (or padded) to what pads, output_padding or output_shape say.
Operands convolution_transposed(Call& call) {
  const Ref x = call.tensor(0), weight = call.tensor(1);
  const Ref bias = call.optional_tensor(2);
  const std::size_t n = spatial_rank(x);
  if (weight.rank() != x.rank())
    throw error("a weight of rank {} for a tensor of rank {}", weight.rank(), x.rank());
  const Axes kernel = checked(call.integers("kernel_shape", kernel_of(weight)), n, "kernel_shape");
  const Axes stride = checked(call.integers("strides", Axes(n, 1)), n, "strides");
  const Axes dilation = checked(call.integers("dilations", Axes(n, 1)), n, "dilations");
  Axes extra = checked(call.integers("output_padding", Axes(n, 0)), n, "output_padding");
  Axes pads = checked(call.integers("pads", Axes(n * 2, 0)), n * 2, "pads");
  const std::string how = call.text("auto_pad", "NOTSET");
  const bool is_same = how == "SAME_UPPER" || how == "SAME_LOWER";
  if (is_same || call.has("output_shape")) {
    const Axes wanted = call.integers("output_shape", {});
    for (std::size_t i = 0; i < n; ++i) {
      const Dim reach = Dim((kernel[i] - 1) * dilation[i] + 1 + extra[i]);
      const Dim& size = x.shape()[i + 2];
      const Dim target = wanted.empty() ? size * Dim(stride[i]) : Dim(wanted.at(wanted.size() - n + i));
      const Dim all = (size - 1) * Dim(stride[i]) + reach - target;
      if (!all.is_known()) throw unsupported("an output_shape for an axis of unknown size ({})", size.str());
      const std::int64_t cut = std::max<std::int64_t>(all.value(), 0), half = cut / 2;
      extra[i] += cut - all.value();  // what is missing is added at the end
      pads[i] = how == "SAME_UPPER" ? half : cut - half;
      pads[i + n] = cut - pads[i];
    }
  }
  const Axes begin(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  const Axes end(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  const auto fits = [&](std::size_t i) {
    return begin[i] >= 0 && extra[i] < std::max(stride[i], dilation[i]);
  };
  bool is_plain = begin == end;
  for (std::size_t i = 0; i < n; ++i) is_plain = is_plain && fits(i);
  const ConvTranspose op{.stride = for_all(stride),
                         .pad = for_all(is_plain ? begin : Axes(n, 0)),
                         .output_pad = for_all(is_plain ? extra : Axes(n, 0)),
                         .dilation = for_all(dilation),
                         .groups = call.integer("group", 1)};
  if (is_plain) return {tenon::apply(op, with_bias(x, weight, bias))};
  Ref y = tenon::apply(op, with_bias(x, weight, {}));
  Shape crop(y.rank() * 2, Dim(0));
  for (std::size_t i = 0; i < n; ++i) {
    crop[i + 2] = Dim(-begin[i]);
    crop[y.rank() + i + 2] = Dim(extra[i] - end[i]);
  }
  y = pad(y, crop);
  if (!bias) return {y};
  Shape channels(y.rank() - 1, Dim(1));
  channels[0] = bias.shape().at(0);
  return {y + reshape(bias, channels)};
}

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
  const Ref rows = iota(x.shape()[0] * x.shape()[1], call.build.place());
  return places + reshape(rows * dim_value(image, rows), along);
}

Operands max_pool(Call& call) {
  const Ref x = call.tensor(0);
  const Windows w = windows(call, x, {});
  const bool ceil = call.integer("ceil_mode", 0) != 0;
  if (!call.wants(1))
    return {apply(MaxPool{.kernel = w.kernel,
                          .stride = w.stride,
                          .pad = shortened(w.pad),
                          .dilation = w.dilation,
                          .ceil = ceil},
                  {x})};
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

Operands average_pool(Call& call) {
  const Ref x = call.tensor(0);
  const Windows w = windows(call, x, {});
  const bool ceil = call.integer("ceil_mode", 0) != 0,
             counts_pads = call.integer("count_include_pad", 0) != 0;
  if (!has_gaps(w))
    return {apply(AvgPool{.kernel = w.kernel,
                          .stride = w.stride,
                          .pad = shortened(w.pad),
                          .ceil = ceil,
                          .count_include_pad = counts_pads},
                  {x})};
  Ref ones = full(x.shape(), 1, x.dtype(), call.build.place());
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
  return {sum_of_taps(x, w, ceil) / sum_of_taps(ones, counted, ceil)};
}

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

Operands global_average_pool(Call& call) {
  const Ref x = call.tensor(0);
  const std::size_t n = spatial_rank(x);
  if (n > 3) return {mean(x, spatial_axes(x), true)};
  return {apply(AdaptiveAvgPool{.output = Shape(n, Dim(1))}, {x})};
}
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
  const Ref zero = full({numel(small)}, 0, x.dtype(), call.build.place());
  const Ref flat = reshape(x, {numel(x.shape())});
  const Ref y = reshape(apply(Scatter{.axis = 0}, {zero, reshape(places, {numel(x.shape())}), flat}), small);
  Shape more(x.rank() * 2, Dim(0));
  for (std::size_t i = 0; i < x.rank(); ++i) more[x.rank() + i] = shape[i] - small[i];
  return {pad(y, more)};
}

}  // namespace

std::span<const Entry> convolution_entries() {
  static constexpr std::array entries = {
      Entry{"AveragePool", average_pool},
      Entry{"Conv", convolution},
      Entry{"ConvTranspose", convolution_transposed},
      Entry{"GlobalAveragePool", global_average_pool},
      Entry{"GlobalLpPool", global_lp_pool},
      Entry{"GlobalMaxPool", global_max_pool},
      Entry{"LpPool", lp_pool},
      Entry{"MaxPool", max_pool},
      Entry{"MaxUnpool", max_unpool},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
