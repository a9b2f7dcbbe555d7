// Convolutions.
#include "converter/onnx/convolution.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/onnx/fused_activation.h"
#include "converter/onnx/table.h"
#include "converter/onnx/windows.h"
#include "ir/ops/conv.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

std::vector<Ref> with_bias(const Ref& x, const Ref& weight, const Ref& bias) {
  std::vector<Ref> operands = {x, weight};
  if (bias) operands.push_back(bias);
  return operands;
}

}  // namespace

Ref convolved(const Call& call, const Ref& x, const Ref& weight, const Ref& bias) {
  if (weight.rank() != x.rank())
    throw error("a weight of rank {} for a tensor of rank {}", weight.rank(), x.rank());
  const Windows w = windows(call, x, kernel_of(weight));
  const Conv op{.stride = for_all(w.stride),
                .pad = for_all(w.pad),
                .dilation = for_all(w.dilation),
                .groups = call.integer("group", 1)};
  return tenon::apply(op, with_bias(x, weight, bias));
}

namespace {

Operands convolution(Call& call) {
  return {convolved(call, call.tensor(0), call.tensor(1), call.optional_tensor(2))};
}

/// With a tensor added and an activation behind.
Operands fused_convolution(Call& call) {
  Ref y = convolved(call, call.tensor(0), call.tensor(1), call.optional_tensor(2));
  if (call.has(3)) y = y + call.tensor(3);
  return {activated(call, y)};
}

Operands fused_convolution_channels_last(Call& call) {
  Ref y = convolved(call, channels_first(call.tensor(0)), call.tensor(1), call.optional_tensor(2));
  if (call.has(3)) y = y + channels_first(call.tensor(3));
  return {channels_last(activated(call, y))};
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
    if (!wanted.empty() && wanted.size() != n && wanted.size() != n + 2)
      throw error("its output_shape has {} sizes for {} axes", wanted.size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const Dim reach = Dim((kernel[i] - 1) * dilation[i] + 1 + extra[i]);
      const Dim& size = x.shape()[i + 2];
      const Dim target = wanted.empty() ? size * Dim(stride[i]) : Dim(wanted[wanted.size() - n + i]);
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
  channels[0] = bias.shape()[0];
  return {y + reshape(bias, channels)};
}

}  // namespace

std::span<const OnnxEntry> convolution_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"Conv", convolution},
      OnnxEntry{"ConvTranspose", convolution_transposed},
      OnnxEntry{"com.microsoft.FusedConv", fused_convolution},
      OnnxEntry{"com.microsoft.NhwcConv", fused_convolution_channels_last},
      OnnxEntry{"com.microsoft.NhwcFusedConv", fused_convolution_channels_last},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
