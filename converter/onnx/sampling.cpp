// Reading images at computed places.
#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "converter/aten/vision.h"
#include "converter/onnx/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/create.h"
#include "ir/ops/index.h"
#include "ir/ops/linear.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"

namespace tenon::converter::onnx {

namespace {

Operands grid_sample(Call& call) {
  const std::string mode = call.text("mode", "linear"), padding = call.text("padding_mode", "zeros");
  const auto choice = [](const std::string& word,
                         std::initializer_list<std::string_view> words) -> std::int64_t {
    std::int64_t i = 0;
    for (const std::string_view w : words) {
      if (w == word) return i;
      ++i;
    }
    throw unsupported("its mode is '{}'", word);
  };
  const std::string name = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  return {call.aten("grid_sampler", {{"input", call.datum(call.tensor(0))},
                                     {"grid", call.datum(call.tensor(1))},
                                     {"interpolation_mode", choice(name, {"linear", "nearest", "cubic"})},
                                     {"padding_mode", choice(padding, {"zeros", "border", "reflection"})},
                                     {"align_corners", call.integer("align_corners", 0) != 0}})};
}

/// Where each place of an image of the given size lies in another one, by an affine map.
Operands affine_grid(Call& call) {
  const Ref theta = call.tensor(0);
  const Axes size = call.integers(1);
  const bool corners = call.integer("align_corners", 0) != 0;
  if (size.size() < 4 || size.size() > 5) throw error("a size of {} elements", size.size());
  const std::size_t n = size.size() - 2;
  Index shape(size.begin() + 2, size.end());
  const std::int64_t places = tenon::numel(shape);
  Tensor base = Tensor::empty(theta.dtype(), {places, static_cast<std::int64_t>(n) + 1});
  std::int64_t p = 0;
  for_each_index(shape, [&](std::span<const std::int64_t> at) {
    for (std::size_t k = 0; k < n; ++k) {  // x before y
      const std::size_t axis = n - 1 - k;
      const auto count = static_cast<double>(shape[axis]), i = static_cast<double>(at[axis]);
      const double value =
          corners ? (shape[axis] > 1 ? 2 * i / (count - 1) - 1 : 0) : (2 * i + 1) / count - 1;
      base.set_double(std::array{p, static_cast<std::int64_t>(k)}, value);
    }
    base.set_double(std::array{p, static_cast<std::int64_t>(n)}, 1.0);
    ++p;
  });
  const Ref grid = call.build.ref(call.build.graph().add_weight("grid", std::move(base)));
  Shape out = {theta.shape()[0]};
  for (const std::int64_t s : shape) out.emplace_back(s);
  out.emplace_back(static_cast<std::int64_t>(n));
  return {reshape(matmul(grid, transpose(theta, -1, -2)), out)};
}

Operands deform_conv(Call& call) {
  const Axes stride = call.integers("strides", {1, 1}), dilation = call.integers("dilations", {1, 1});
  const Axes pads = call.integers("pads", {0, 0, 0, 0});
  if (stride.size() != 2 || dilation.size() != 2 || pads.size() != 4)
    throw error("strides, dilations or pads of another number than its axes");
  return {converter::deform_conv(call.build, call.tensor(0), call.tensor(1), call.tensor(2),
                                 call.has(3) ? call.tensor(3) : Ref(), call.has(4) ? call.tensor(4) : Ref(),
                                 {.stride = {stride[0], stride[1]},
                                  .pads = {pads[0], pads[1]},
                                  .dilation = {dilation[0], dilation[1]},
                                  .groups = call.integer("group", 1),
                                  .parts = call.integer("offset_group", 1)})};
}

Operands roi_align(Call& call) {
  const std::int64_t ratio = call.integer("sampling_ratio", 0);
  if (ratio < 1) throw unsupported("a number of samples that depends on the regions (sampling_ratio=0)");
  const std::string mode = call.text("mode", "avg");
  if (mode != "avg" && mode != "max") throw error("its mode is '{}'", mode);
  const std::string how =
      call.text("coordinate_transformation_mode", call.version < 16 ? "output_half_pixel" : "half_pixel");
  return {converter::roi_align(call.build, call.tensor(0), call.tensor(1), cast(DType::i64, call.tensor(2)),
                               {.bins = {call.integer("output_height", 1), call.integer("output_width", 1)},
                                .samples = ratio,
                                .scale = call.number("spatial_scale", 1),
                                .aligned = how == "half_pixel",
                                .largest = mode == "max"})};
}

/// Halves away from zero.
Ref rounded(const Ref& x) { return sign(x) * floor(abs(x) + 0.5); }

/// Where region r's bin b covers place i along an axis of x: bool[regions, bins, size]. Whole numbers (i64).
Ref covered(const Call& call, const Ref& begin, const Ref& end, std::int64_t bins, const Dim& size) {
  const Place& place = call.build.place();
  const Dim regions = begin.shape()[0];
  const Ref length = maximum(end - begin + 1.0, begin.literal(1));
  const Ref bin = iota(Dim(bins), place);  // [regions, bins] with the others
  const auto divided = [&](const Ref& x) {
    return tenon::apply(FloorDiv{}, {x, x.literal(static_cast<double>(bins))});
  };
  const Shape shape = {regions, Dim(bins), Dim(1)};
  const Ref from = reshape(divided(bin * length) + begin, shape);
  const Ref to = reshape(divided((bin + 1.0) * length + static_cast<double>(bins - 1)) + begin, shape);
  const Ref at = iota(size, place);
  return logical_and(at >= from, at < to);
}

/// Regions of images (image, x1, y1, x2, y2), each cut in bins; the largest of each bin, zero of an empty
/// one.
Operands max_roi_pool(Call& call) {
  const Ref x = call.tensor(0), regions = call.tensor(1);
  check_rank("X", x.type(), 4);
  check_rank("rois", regions.type(), 2);
  const Axes bins = call.integers("pooled_shape", {});
  constexpr std::int64_t most = 128;
  if (bins.size() != 2 || std::any_of(bins.begin(), bins.end(), [](auto b) { return b < 1 || b > most; }))
    throw error("its pooled_shape has {} sizes, or one that is not in [1, {}]", bins.size(), most);
  const double scale = call.number("spatial_scale", 1);
  const auto column = [&](std::int64_t i) { return slice(regions, 1, Dim(i), Dim(i + 1)); };
  const Dim count = regions.shape()[0];
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  Ref y = index_select(x, 0, cast(DType::i64, reshape(column(0), {count})));
  for (const std::int64_t axis : {2, 3}) {  // down, then right
    const auto edge = [&](std::int64_t i) { return cast(DType::i64, rounded(column(i) * scale)); };
    const std::int64_t of_axis = bins[static_cast<std::size_t>(axis) - 2];
    const Dim size = x.shape()[static_cast<std::size_t>(axis)];
    const Ref mask = covered(call, edge(axis == 2 ? 2 : 1), edge(axis == 2 ? 4 : 3), of_axis, size);
    Shape beside = {count, Dim(1), Dim(1), Dim(1)};
    beside[static_cast<std::size_t>(axis)] = size;
    std::vector<Ref> parts;
    for (std::int64_t b = 0; b < of_axis; ++b) {
      const Ref here = reshape(slice(mask, 1, Dim(b), Dim(b + 1)), beside);
      parts.push_back(amax(where(here, y, lowest), {axis}, true));
    }
    y = concat(parts, axis);
  }
  return {where(equal(y, y.literal(lowest)), y.literal(0), y)};
}

}  // namespace

std::span<const Entry> sampling_entries() {
  static constexpr std::array entries = {
      Entry{"AffineGrid", affine_grid},  Entry{"DeformConv", deform_conv}, Entry{"GridSample", grid_sample},
      Entry{"MaxRoiPool", max_roi_pool}, Entry{"RoiAlign", roi_align},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
