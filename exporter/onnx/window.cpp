// Convolutions, poolings and resizing.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "exporter/onnx/table.h"
#include "ir/ops/axis_maps.h"
#include "ir/ops/conv.h"
#include "ir/ops/functions.h"
#include "ir/ops/interpolate.h"
#include "ir/ops/pool.h"

namespace tenon::exporter::onnx {
namespace {

using Refs = std::span<const Ref>;

Axes both(const Pads& pads) {
  Axes out = pads.begin;
  out.insert(out.end(), pads.end.begin(), pads.end.end());
  return out;
}

Attributes window_attributes(std::size_t dims, const Axes& stride, const Pads& pads, const Axes& dilation) {
  return {{"strides", spatial("stride", stride, dims)},
          {"pads", both(pads)},
          {"dilations", spatial("dilation", dilation, dims)}};
}

OnnxValues operands_of(OnnxWriter& w, const Node& n) {
  OnnxValues out;
  for (const Value* v : n.inputs()) out.push_back(w.value(v));
  return out;
}

bool write_conv(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<Conv>();
  const std::size_t dims = n.input()->rank() - 2;
  Attributes attributes = window_attributes(dims, op.stride, spatial_pads(op.pad, dims), op.dilation);
  attributes.push_back({"group", op.groups});
  w.set(n.output(), w.add("Conv", operands_of(w, n), std::move(attributes)));
  return true;
}

bool write_conv_transpose(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<ConvTranspose>();
  const std::size_t dims = n.input()->rank() - 2;
  const Axes strides = spatial("stride", op.stride, dims), extra = spatial("output_pad", op.output_pad, dims);
  for (std::size_t i = 0; i < dims; ++i)
    if (extra[i] >= strides[i] && extra[i] > 0)
      throw unsupported("the output's padding of {} is not less than the stride {}", extra[i], strides[i]);
  Attributes attributes = window_attributes(dims, op.stride, spatial_pads(op.pad, dims), op.dilation);
  attributes.push_back({"group", op.groups});
  attributes.push_back({"output_padding", extra});
  w.set(n.output(), w.add("ConvTranspose", operands_of(w, n), std::move(attributes)));
  return true;
}

/// x[..., K] weight[N, K] + bias.
bool write_linear(OnnxWriter& w, const Node& n) {
  const OnnxValues in = operands_of(w, n);
  if (n.input()->rank() == 2 && is_float(in[0].dtype)) {
    w.set(n.output(), w.add("Gemm", in, {{"transB", std::int64_t{1}}}));
    return true;
  }
  const OnnxValue weight = w.add("Transpose", {in[1]}, {{"perm", Index{1, 0}}});
  const OnnxValue product = w.add("MatMul", {in[0], weight});
  w.set(n.output(), in.size() > 2 ? w.add("Add", {product, in[2]}) : product);
  return true;
}

/// Padding with which windows that are rounded down are those of the result. ONNX rounds up by another rule;
/// what lies beyond the padding counts for neither.
Pads exact_pads(const Node& n, const Axes& kernel, const Axes& stride, const Axes& pad, const Axes& dilation,
                bool ceil) {
  const std::size_t dims = n.input()->rank() - 2;
  Pads pads = spatial_pads(pad, dims);
  if (!ceil) return pads;
  const Axes kernels = spatial("kernel", kernel, dims), strides = spatial("stride", stride, dims);
  const Axes dilations = spatial("dilation", dilation, dims);
  for (std::size_t i = 0; i < dims; ++i) {
    const Dim &in = n.input()->shape()[2 + i], &out = n.output()->shape()[2 + i];
    if (!in.is_known() || !out.is_known())
      throw unsupported("the windows of a size that varies are rounded up (ceil_mode)");
    const std::int64_t reach =
        (out.value() - 1) * strides[i] + dilations[i] * (kernels[i] - 1) + 1 - in.value() - pads.begin[i];
    pads.end[i] = std::max(pads.end[i], reach);
  }
  return pads;
}

template <class T>
Attributes max_pool_attributes(const Node& n) {
  const auto& op = *n.as<T>();
  const std::size_t dims = n.input()->rank() - 2;
  Attributes out = window_attributes(
      dims, op.stride, exact_pads(n, op.kernel, op.stride, op.pad, op.dilation, op.ceil), op.dilation);
  out.push_back({"kernel_shape", spatial("kernel", op.kernel, dims)});
  return out;
}

bool write_max_pool(OnnxWriter& w, const Node& n) {
  w.set(n.output(), w.add("MaxPool", {w.value(n.input())}, max_pool_attributes<MaxPool>(n)));
  return true;
}

/// ONNX counts places from the first element of the first channel.
bool write_max_pool_indices(OnnxWriter& w, const Node& n) {
  const OnnxValue x = w.value(n.input());
  if (x.dtype != DType::f32 && x.dtype != DType::f64)
    throw unsupported("the places of the largest elements of {}", name(x.dtype));
  const OnnxValues out =
      w.add_all("MaxPool", {x}, max_pool_attributes<MaxPoolIndices>(n), {x.dtype, DType::i64});
  const Shape& shape = n.input()->shape();
  const Dim plane = numel(Shape(shape.begin() + 2, shape.end()));
  w.set(n.output(0), out[0]);
  w.set(n.output(1), w.add("Mod", {out[1], w.size(plane)}));
  return true;
}

/// Where every element counts, or those in the padding do not.
bool write_avg_pool(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<AvgPool>();
  const std::size_t dims = n.input()->rank() - 2;
  const Pads pads = exact_pads(n, op.kernel, op.stride, op.pad, {1}, op.ceil);
  const Pads given = spatial_pads(op.pad, dims);
  const bool is_padded = both(pads) != Axes(2 * dims, 0);
  if (op.divisor || (is_padded && op.count_include_pad && both(pads) != both(given))) return false;
  Attributes attributes = {{"strides", spatial("stride", op.stride, dims)},
                           {"pads", both(pads)},
                           {"kernel_shape", spatial("kernel", op.kernel, dims)},
                           {"count_include_pad", std::int64_t{op.count_include_pad}}};
  w.set(n.output(), w.add("AveragePool", {w.value(n.input())}, std::move(attributes)));
  return true;
}

Ref padded(const Ref& x, const Pads& pads, double value) {
  Shape amounts(2, 0);
  amounts.insert(amounts.end(), pads.begin.begin(), pads.begin.end());
  amounts.insert(amounts.end(), 2, 0);
  amounts.insert(amounts.end(), pads.end.begin(), pads.end.end());
  return pad(x, amounts, value);
}

/// The sum of each window over a divisor; without one, over the sum of as many ones.
std::vector<Ref> avg_pool(const Node& n, Refs in) {
  const auto& op = *n.as<AvgPool>();
  const std::size_t dims = in[0].rank() - 2;
  const Pads pads = exact_pads(n, op.kernel, op.stride, op.pad, {1}, op.ceil);
  const AvgPool whole{.kernel = op.kernel, .stride = op.stride};
  const Axes kernels = spatial("kernel", op.kernel, dims);
  const auto elements = std::accumulate(kernels.begin(), kernels.end(), std::int64_t{1}, std::multiplies<>());
  const Ref mean = apply(whole, {padded(in[0], pads, 0)});
  if (op.divisor) return {mean * (static_cast<double>(elements) / static_cast<double>(*op.divisor))};
  // Elements and their padding count, what lies beyond does not.
  const Pads given = spatial_pads(op.pad, dims);
  Pads beyond{Axes(dims, 0), Axes(dims, 0)};
  Shape counted(2, 1);
  for (std::size_t i = 0; i < dims; ++i) {
    counted.push_back(in[0].shape()[2 + i] + given.begin[i] + given.end[i]);
    beyond.end[i] = pads.end[i] - given.end[i];
  }
  const Ref ones = expand(in[0].literal(1), counted);
  return {mean / apply(whole, {padded(ones, beyond, 0)})};
}

constexpr std::int64_t most_windows = 64;  // of an axis that are written one by one

/// The windows of an axis: [first, end) of each.
std::vector<std::pair<std::int64_t, std::int64_t>> adaptive_windows(std::int64_t in, std::int64_t out) {
  std::vector<std::pair<std::int64_t, std::int64_t>> windows;
  for (std::int64_t i = 0; i < out; ++i) windows.emplace_back(i * in / out, ((i + 1) * in + out - 1) / out);
  return windows;
}

/// Axis by axis: a window of several axes is the windows of its axes.
template <class Fold>
std::vector<Ref> adaptive_pool(Refs in, const Shape& output, Fold fold) {
  Ref x = in[0];
  Axes whole;
  for (std::size_t i = 0; i < output.size(); ++i)
    if (output[i] == 1) whole.push_back(static_cast<std::int64_t>(i) + 2);
  if (!whole.empty()) x = fold(x, whole);
  for (std::size_t i = 0; i < output.size(); ++i) {
    const Dim& size = in[0].shape()[2 + i];
    if (output[i] == 1 || output[i] == size) continue;
    if (!size.is_known() || !output[i].is_known() || output[i].value() > most_windows)
      throw unsupported("adaptive pooling of {} elements into {}", size.str(), output[i].str())
          .hint("sizes that do not vary: --input with a number");
    const auto axis = static_cast<std::int64_t>(i) + 2;
    std::vector<Ref> parts;
    for (const auto& [first, end] : adaptive_windows(size.value(), output[i].value()))
      parts.push_back(fold(slice(x, axis, first, end), {axis}));
    x = concat(parts, axis);
  }
  return {x};
}

std::vector<Ref> adaptive_avg_pool(const Node& n, Refs in) {
  return adaptive_pool(in, n.as<AdaptiveAvgPool>()->output,
                       [](const Ref& x, const Axes& axes) { return mean(x, axes, true); });
}
std::vector<Ref> adaptive_max_pool(const Node& n, Refs in) {
  return adaptive_pool(in, n.as<AdaptiveMaxPool>()->output,
                       [](const Ref& x, const Axes& axes) { return amax(x, axes, true); });
}

/// Whether places follow from sizes alone: a factor that is given is their ratio.
bool factor_is_ratio(double factor, const Dim& in, const Dim& out) {
  if (in.is_known() && out.is_known())
    return factor * static_cast<double>(in.value()) == static_cast<double>(out.value());
  return factor == std::floor(factor) && out == in * static_cast<std::int64_t>(factor);
}

/// A whole factor: no rounding decides which element is nearest.
bool is_whole_factor(const Dim& in, const Dim& out) {
  if (in.is_known() && out.is_known()) return out.value() % in.value() == 0;
  return mod(out, in) == 0;
}

/// The nearest elements of each axis, by the operator's own rule.
OnnxValue write_nearest(OnnxWriter& w, const Interpolate& op, OnnxValue x, const Shape& in,
                        const Shape& out) {
  for (std::size_t axis = 2; axis < in.size(); ++axis) {
    if (in[axis] == out[axis] && op.scales.empty()) continue;
    if (!in[axis].is_known() || !out[axis].is_known())
      throw unsupported("the nearest elements of {} among {}", out[axis].str(), in[axis].str())
          .hint("sizes that do not vary: --input with a number");
    const AxisMap map = nearest_map(op, axis, in[axis].value(), out[axis].value());
    Tensor nearest = Tensor::empty(DType::i64, {out[axis].value()});
    std::copy(map.begin(), map.end(), nearest.mutable_data<std::int64_t>());
    x = w.add("Gather", {x, w.constant(nearest)}, {{"axis", static_cast<std::int64_t>(axis)}});
  }
  return x;
}

bool write_interpolate(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<Interpolate>();
  const Shape &in = n.input()->shape(), &out = n.output()->shape();
  const OnnxValue x = w.value(n.input());
  const bool is_nearest = op.mode == InterpolateMode::nearest || op.mode == InterpolateMode::nearest_exact;
  bool follows = true, is_whole = true;
  for (std::size_t i = 2; i < in.size(); ++i) {
    const double factor = op.scales.empty() ? 0 : op.scales[i - 2];
    follows = follows && (factor <= 0 || factor_is_ratio(factor, in[i], out[i]));
    is_whole = is_whole && is_whole_factor(in[i], out[i]);
  }
  if (is_nearest && !(follows && is_whole)) {
    w.set(n.output(), write_nearest(w, op, x, in, out));
    return true;
  }
  OnnxValue scales, sizes;
  if (follows || op.align_corners) {
    sizes = w.sizes(out);
  } else {
    Tensor factors = Tensor::empty(DType::f32, {static_cast<std::int64_t>(in.size())});
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float factor = i < 2 ? 1 : static_cast<float>(op.scales[i - 2]);
      const bool gives_size = i < 2 || (factor > 0 && in[i].is_known() && out[i].is_known() &&
                                        std::floor(static_cast<float>(in[i].value()) * factor) ==
                                            static_cast<float>(out[i].value()));
      if (!gives_size)
        throw unsupported("a factor of {} from {} to {} elements", factor, in[i].str(), out[i].str())
            .hint("in PyTorch: recompute_scale_factor=True");
      factors.mutable_data<float>()[i] = factor;
    }
    scales = w.constant(factors);
  }
  const bool is_exact = op.mode == InterpolateMode::nearest_exact;
  const char* mode = is_nearest ? "nearest" : op.mode == InterpolateMode::linear ? "linear" : "cubic";
  const char* place = op.mode == InterpolateMode::nearest ? "asymmetric"
                      : op.align_corners && !is_nearest   ? "align_corners"
                                                          : "half_pixel";
  w.set(n.output(), w.add("Resize", {x, {}, scales, sizes},
                          {{"mode", std::string(mode)},
                           {"coordinate_transformation_mode", std::string(place)},
                           // round(x - 0.5), halves up: the floor of x
                           {"nearest_mode", std::string(is_exact ? "round_prefer_ceil" : "floor")},
                           {"cubic_coeff_a", -0.75}}));
  return true;
}

}  // namespace

std::span<const OnnxExportEntry> window_entries() {
  static constexpr std::array entries = {
      OnnxExportEntry{"adaptive_avg_pool", nullptr, adaptive_avg_pool},
      OnnxExportEntry{"adaptive_max_pool", nullptr, adaptive_max_pool},
      OnnxExportEntry{"avg_pool", write_avg_pool, avg_pool},
      OnnxExportEntry{"conv", write_conv},
      OnnxExportEntry{"conv_transpose", write_conv_transpose},
      OnnxExportEntry{"interpolate", write_interpolate},
      OnnxExportEntry{"linear", write_linear},
      OnnxExportEntry{"max_pool", write_max_pool},
      OnnxExportEntry{"max_pool_indices", write_max_pool_indices},
  };
  return entries;
}

}  // namespace tenon::exporter::onnx
