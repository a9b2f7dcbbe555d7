// Reading images at computed places.
#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
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

/// A convolution whose taps are read at places of their own, and weighted by a mask.
Operands deform_conv(Call& call) {
  const Ref x = call.tensor(0), weight = call.tensor(1), offset = call.tensor(2);
  check_rank("X", x.type(), 4);
  check_rank("W", weight.type(), 4);
  check_rank("offset", offset.type(), 4);
  const auto sizes = known_sizes(Shape{x.shape()[1], x.shape()[2], x.shape()[3], weight.shape()[0],
                                       weight.shape()[1], weight.shape()[2], weight.shape()[3]});
  if (!sizes) throw unsupported("a deformable convolution of unknown sizes");
  const std::int64_t channels = (*sizes)[0], kh = (*sizes)[5], kw = (*sizes)[6], taps = kh * kw;
  const std::int64_t parts = call.integer("offset_group", 1), groups = call.integer("group", 1);
  const Axes stride = call.integers("strides", {1, 1}), dilation = call.integers("dilations", {1, 1});
  const Axes pads = call.integers("pads", {0, 0, 0, 0});
  if (parts < 1 || groups < 1 || channels % parts != 0 || stride.size() != 2 || dilation.size() != 2 ||
      pads.size() != 4)
    throw error("{} channels in {} groups of offsets, for {} groups", channels, parts, groups);
  const Dim batch = x.shape()[0], high = offset.shape()[2], wide = offset.shape()[3];
  const Ref moved = reshape(offset, {batch * Dim(parts), Dim(kh), Dim(kw), Dim(2), high, wide});
  const Place& place = call.build.place();
  const auto along = [&](std::size_t d) {  // as a share of the image from -1 to 1, for align_corners
    const Dim& count = d == 0 ? high : wide;
    const Ref start =
        iota(count, place, offset.dtype()) * static_cast<double>(stride[d]) - static_cast<double>(pads[d]);
    const Ref tap = iota(Dim(d == 0 ? kh : kw), place, offset.dtype()) * static_cast<double>(dilation[d]);
    const Ref at =
        reshape(start, d == 0 ? Shape{count, Dim(1)} : Shape{count}) +
        reshape(tap, d == 0 ? Shape{Dim(kh), Dim(1), Dim(1), Dim(1)} : Shape{Dim(kw), Dim(1), Dim(1)});
    const Ref by =
        reshape(slice(moved, 3, Dim(d), Dim(d + 1)), {batch * Dim(parts), Dim(kh), Dim(kw), high, wide});
    const auto last = static_cast<double>((*sizes)[d + 1] - 1);
    return reshape((at + by) / std::max(last, 1.0) * 2.0 - 1.0,
                   {batch * Dim(parts), Dim(taps) * high, wide, Dim(1)});
  };
  if ((*sizes)[1] < 2 || (*sizes)[2] < 2)
    throw unsupported("a deformable convolution of an image of one row or column");
  const Ref grid = concat(std::array{along(1), along(0)}, 3);
  const Ref image = reshape(x, {batch * Dim(parts), Dim(channels / parts), x.shape()[2], x.shape()[3]});
  Ref read = call.aten("grid_sampler", {{"input", call.datum(image)},
                                        {"grid", call.datum(grid)},
                                        {"interpolation_mode", 0},
                                        {"padding_mode", 0},
                                        {"align_corners", true}});
  read = reshape(read, {batch, Dim(parts), Dim(channels / parts), Dim(taps), high * wide});
  if (call.has(4)) read = read * reshape(call.tensor(4), {batch, Dim(parts), Dim(1), Dim(taps), high * wide});
  const std::int64_t each = channels / groups;
  const Ref columns = reshape(read, {batch, Dim(groups), Dim(each * taps), high * wide});
  const Dim filters = floor_div(weight.shape()[0], Dim(groups));
  const Ref rows = reshape(weight, {Dim(groups), filters, Dim(each * taps)});
  Ref y = reshape(matmul(rows, columns), {batch, weight.shape()[0], high, wide});
  if (call.has(3)) y = y + reshape(call.tensor(3), {weight.shape()[0], Dim(1), Dim(1)});
  return {y};
}

/// Regions of images, each read at the same number of places and pooled.
Operands roi_align(Call& call) {
  const Ref x = call.tensor(0), regions = call.tensor(1), images = cast(DType::i64, call.tensor(2));
  check_rank("X", x.type(), 4);
  check_rank("rois", regions.type(), 2);
  const std::int64_t ratio = call.integer("sampling_ratio", 0);
  if (ratio < 1) throw unsupported("a number of samples that depends on the regions (sampling_ratio=0)");
  const std::string mode = call.text("mode", "avg");
  if (mode != "avg" && mode != "max") throw error("its mode is '{}'", mode);
  const std::string how =
      call.text("coordinate_transformation_mode", call.version < 16 ? "output_half_pixel" : "half_pixel");
  const bool half = how == "half_pixel";
  const double scale = call.number("spatial_scale", 1);
  const Dim count = regions.shape()[0], channels = x.shape()[1];
  const Place& place = call.build.place();
  struct Corner {
    Ref place, weight;
  };
  std::array<std::array<Corner, 2>, 2> corners;  // of each axis, lower and upper
  std::array<Ref, 2> inside;
  std::array<std::int64_t, 2> samples{};
  for (const std::size_t d : {0, 1}) {  // down, then right
    const std::int64_t bins = call.integer(d == 0 ? "output_height" : "output_width", 1);
    if (bins < 1 || bins > 4096 || ratio > 4096) throw error("{} bins of {} samples", bins, ratio);
    samples[d] = bins * ratio;
    const auto edge = [&](std::int64_t i) {
      return slice(regions, 1, Dim(i), Dim(i + 1)) * scale - (half ? 0.5 : 0.0);
    };
    const Ref begin = edge(d == 0 ? 1 : 0);
    Ref size = edge(d == 0 ? 3 : 2) - begin;
    if (!half) size = maximum(size, size.literal(1));
    const Ref steps = (iota(Dim(samples[d]), place, x.dtype()) + 0.5) / static_cast<double>(samples[d]);
    const Ref at = begin + size * steps;  // [regions, samples]
    const Ref extent = dim_value(x.shape()[d + 2], at);
    inside[d] = logical_and(at >= at.literal(-1), at <= extent);
    const Ref last = extent - 1.0;
    const Ref clipped = minimum(maximum(at, at.literal(0)), last);
    const Ref low = floor(clipped);
    const Ref share = clipped - low;
    corners[d][0] = {low, 1.0 - share};
    corners[d][1] = {minimum(low + 1.0, last), share};
  }
  const Shape places = {count, Dim(samples[0]), Dim(samples[1])};
  const auto down = [&](const Ref& r) {
    return expand(reshape(r, {count, Dim(samples[0]), Dim(1)}), places);
  };
  const auto right = [&](const Ref& r) {
    return expand(reshape(r, {count, Dim(1), Dim(samples[1])}), places);
  };
  const Ref rows = permute(x, {0, 2, 3, 1});  // places before channels
  const Ref image = expand(reshape(images, {count, Dim(1), Dim(1)}), places);
  const Ref valid = logical_and(down(inside[0]), right(inside[1]));
  Ref pooled;
  for (const std::size_t a : {0, 1})
    for (const std::size_t b : {0, 1}) {
      const Ref y = cast(DType::i64, down(corners[0][a].place)),
                z = cast(DType::i64, right(corners[1][b].place));
      const Ref value = tenon::apply(IndexAt{.axes = {0, 1, 2}}, {rows, image, y, z});
      const Ref weight = where(valid, down(corners[0][a].weight) * right(corners[1][b].weight), 0);
      const Ref part = value * reshape(weight, {count, Dim(samples[0]), Dim(samples[1]), Dim(1)});
      pooled = !pooled ? part : mode == "avg" ? pooled + part : maximum(pooled, part);
    }
  const Shape bins = {count,   Dim(samples[0] / ratio), Dim(ratio), Dim(samples[1] / ratio), Dim(ratio),
                      channels};
  const Ref split = reshape(pooled, bins);
  const Ref y = mode == "avg" ? mean(split, {2, 4}) : amax(split, {2, 4});
  return {permute(y, {0, 3, 1, 2})};
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
