// Resizing, and reading images at computed places.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/create.h"
#include "ir/ops/index.h"
#include "ir/ops/interpolate.h"
#include "ir/ops/linear.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"

namespace tenon::converter::onnx {

namespace {

/// What a Resize asks for, for every axis of its input.
struct Resizing {
  std::string mode, coordinates, nearest_mode;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
  std::vector<Dim> sizes;
  std::vector<double> scales;        // output size / input size, as places are computed with
  std::vector<double> begins, ends;  // of the region, as shares of the axis
  bool has_scales = false;
};

/// One axis of known size as a matrix [out, in]: what each output place takes from each input place.
class AxisWeights {
 public:
  AxisWeights(const Resizing& resizing, std::size_t axis, std::int64_t in)
      : r_(resizing),
        axis_(axis),
        in_(in),
        out_(resizing.sizes[axis].value()),
        scale_(resizing.scales[axis]) {}

  /// Weights in f64, and the places that lie outside (tf_crop_and_resize).
  std::vector<std::vector<double>> rows(std::vector<bool>& outside) const {
    std::vector<std::vector<double>> all;
    for (std::int64_t i = 0; i < out_; ++i) {
      const double at = source(static_cast<double>(i));
      outside.push_back(r_.coordinates == "tf_crop_and_resize" &&
                        (at < 0 || at > static_cast<double>(in_ - 1)));
      all.push_back(row(at));
    }
    return all;
  }

 private:
  double source(double i) const {
    const auto in = static_cast<double>(in_), out = static_cast<double>(out_);
    const std::string& how = r_.coordinates;
    if (how == "asymmetric") return i / scale_;
    if (how == "align_corners") {
      const double exact = scale_ * in;  // the size before it was rounded
      return exact == 1 ? 0 : i * (in - 1) / (exact - 1);
    }
    if (how == "pytorch_half_pixel") return out_ > 1 ? (i + 0.5) / scale_ - 0.5 : 0;
    if (how == "half_pixel_symmetric") {
      const double exact = scale_ * in;  // the size before it was rounded
      const double adjustment = out / exact;
      const double offset = in / 2 * (1 - adjustment);
      return offset + (i + 0.5) / scale_ - 0.5;
    }
    if (how == "tf_crop_and_resize") {
      const double begin = r_.begins[axis_], end = r_.ends[axis_];
      return out_ > 1 ? begin * (in - 1) + i * (end - begin) * (in - 1) / (out - 1)
                      : 0.5 * (begin + end) * (in - 1);
    }
    if (how == "half_pixel") return (i + 0.5) / scale_ - 0.5;
    throw unsupported("its coordinate_transformation_mode is '{}'", how);
  }

  std::vector<double> row(double at) const {
    std::vector<double> weights(static_cast<std::size_t>(in_), 0.0);
    if (r_.mode == "nearest") {
      weights[inside(nearest(at))] = 1;
      return weights;
    }
    const double stretch = r_.antialias ? std::max(1.0, 1 / scale_) : 1;
    const double reach = (r_.mode == "cubic" ? 2 : 1) * stretch;
    const auto first = static_cast<std::int64_t>(std::floor(at - reach)),
               last = static_cast<std::int64_t>(std::ceil(at + reach));
    double total = 0;
    for (std::int64_t k = first; k <= last; ++k) {
      const bool is_outside = k < 0 || k >= in_;
      double w = kernel(std::abs(static_cast<double>(k) - at) / stretch);
      if (is_outside && r_.exclude_outside) w = 0;
      total += w;
      weights[inside(k)] += w;
    }
    for (double& w : weights) w /= total;
    return weights;
  }

  double kernel(double distance) const {
    if (r_.mode == "linear") return std::max(0.0, 1 - distance);
    const double a = r_.cubic_a, d = distance;
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
  }

  std::int64_t nearest(double at) const {
    const std::string& how = r_.nearest_mode;
    if (how == "floor") return static_cast<std::int64_t>(std::floor(at));
    if (how == "ceil") return static_cast<std::int64_t>(std::ceil(at));
    if (how == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(at + 0.5));
    return static_cast<std::int64_t>(std::ceil(at - 0.5));
  }

  std::size_t inside(std::int64_t k) const {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(k, 0, in_ - 1));
  }

  const Resizing& r_;
  std::size_t axis_;
  std::int64_t in_, out_;
  double scale_;
};

/// False when a size was rounded.
bool has_exact_sizes(const Resizing& r, const Ref& x) {
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const bool known = r.sizes[i].is_known() && x.shape()[i].is_known();
    const double exact = known ? r.scales[i] * static_cast<double>(x.shape()[i].value()) : 0;
    if (known && std::abs(exact - static_cast<double>(r.sizes[i].value())) > 1e-6) return false;
  }
  return true;
}

/// PyTorch's interpolation, where it does the same.
std::optional<Interpolate> as_interpolate(const Resizing& r, const Ref& x) {
  const std::size_t rank = x.rank();
  if (rank < 3 || rank > 5 || r.antialias || r.exclude_outside || !is_float(x.dtype())) return std::nullopt;
  for (const std::size_t i : {0, 1})
    if (!(r.sizes[i] == x.shape()[i])) return std::nullopt;
  Interpolate op{.output = Shape(r.sizes.begin() + 2, r.sizes.end())};
  if (r.coordinates == "align_corners" && !has_exact_sizes(r, x)) return std::nullopt;
  if (r.has_scales) op.scales.assign(r.scales.begin() + 2, r.scales.end());
  const bool half = r.coordinates == "half_pixel" || r.coordinates == "pytorch_half_pixel";
  for (const Dim& d : op.output)
    if (half && r.coordinates == "pytorch_half_pixel" && known_equal(d, Dim(1)) != false) return std::nullopt;
  if (r.mode == "nearest") {
    if (r.coordinates != "asymmetric" || r.nearest_mode != "floor") return std::nullopt;
    op.mode = InterpolateMode::nearest;
    return op;
  }
  if (r.mode == "cubic" && (r.cubic_a != -0.75 || rank != 4)) return std::nullopt;
  op.mode = r.mode == "cubic" ? InterpolateMode::cubic : InterpolateMode::linear;
  op.align_corners = r.coordinates == "align_corners";
  if (!half && !op.align_corners) return std::nullopt;
  return op;
}

/// y along one axis: a product with a constant matrix, or a choice of places.
Ref resized_axis(const Call& call, const Resizing& r, const Ref& x, std::size_t axis,
                 std::vector<bool>& outside) {
  const Dim& size = x.shape()[axis];
  if (!size.is_known() || !r.sizes[axis].is_known())
    throw unsupported("resizing an axis of unknown size ({}) in this way", size.str())
        .hint("give that dimension of the input a number instead of a symbol");
  if (size.value() < 1 || r.sizes[axis].value() > (1 << 20) / std::max<std::int64_t>(1, size.value() >> 6))
    throw unsupported("resizing {} places to {}", size.str(), r.sizes[axis].str());
  const auto rows = AxisWeights(r, axis, size.value()).rows(outside);
  const auto at = static_cast<std::int64_t>(axis);
  const auto count = static_cast<std::int64_t>(rows.size());
  if (r.mode == "nearest") {
    Tensor places = Tensor::empty(DType::i64, {count});
    for (std::int64_t i = 0; i < count; ++i) {
      const auto& row = rows[static_cast<std::size_t>(i)];
      places.set_int(std::array{i}, std::max_element(row.begin(), row.end()) - row.begin());
    }
    return index_select(x, at, call.build.ref(call.build.graph().add_weight("places", std::move(places))));
  }
  const DType dtype = is_float(x.dtype()) ? x.dtype() : DType::f32;
  Tensor matrix = Tensor::empty(dtype, {count, size.value()});
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t k = 0; k < size.value(); ++k)
      matrix.set_double(std::array{i, k}, rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)]);
  const Ref weights = call.build.ref(call.build.graph().add_weight("interpolation", std::move(matrix)));
  Axes last(x.rank());
  std::iota(last.begin(), last.end(), 0);
  std::swap(last[axis], last.back());
  return permute(linear(permute(cast(dtype, x), last), weights), last);
}

Operands resized(const Call& call, const Ref& x, const Resizing& r) {
  if (const auto op = as_interpolate(r, x)) return {apply(*op, {x})};
  Ref y = x;
  std::vector<std::vector<bool>> outside(x.rank());
  const bool crops = r.coordinates == "tf_crop_and_resize";
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (crops || !(r.sizes[i] == x.shape()[i]) || r.scales[i] != 1)
      y = resized_axis(call, r, y, i, outside[i]);
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (std::find(outside[i].begin(), outside[i].end(), true) == outside[i].end()) continue;
    Index shape(x.rank(), 1);
    shape[i] = static_cast<std::int64_t>(outside[i].size());
    Tensor mask = Tensor::empty(DType::boolean, shape);
    for (std::size_t k = 0; k < outside[i].size(); ++k)
      reinterpret_cast<bool*>(mask.mutable_bytes())[k] = outside[i][k];
    y = where(call.build.ref(call.build.graph().add_weight("outside", std::move(mask))),
              y.literal(r.extrapolation), y);
  }
  if (is_float(x.dtype())) return {y};
  const bool is_byte = size_of(x.dtype()) == 1 && y.dtype() == DType::f32;
  const double low = x.dtype() == DType::i8 ? -128 : 0, high = x.dtype() == DType::i8 ? 127 : 255;
  return {cast(x.dtype(), is_byte ? apply(Clamp{.min = low, .max = high}, {y}) : y)};
}

/// The largest (or smallest) factor that all axes take, and their sizes.
void keep_aspect_ratio(Resizing& r, const Ref& x, const Axes& axes, bool is_largest) {
  double scale = is_largest ? 0 : std::numeric_limits<double>::infinity();
  for (const std::int64_t a : axes) {
    const double s = r.scales[static_cast<std::size_t>(a)];
    scale = is_largest ? std::max(scale, s) : std::min(scale, s);
  }
  for (const std::int64_t a : axes) {
    const auto i = static_cast<std::size_t>(a);
    r.scales[i] = scale;
    r.sizes[i] =
        Dim(static_cast<std::int64_t>(std::floor(scale * static_cast<double>(x.shape()[i].value()) + 0.5)));
  }
}

Resizing resizing_of(const Call& call, const Ref& x, std::size_t scales_at) {
  Resizing r{.mode = call.text("mode", "nearest"),
             .coordinates =
                 call.text("coordinate_transformation_mode", call.version < 11 ? "asymmetric" : "half_pixel"),
             .nearest_mode = call.text("nearest_mode", call.version < 11 ? "floor" : "round_prefer_floor"),
             .cubic_a = call.number("cubic_coeff_a", -0.75),
             .extrapolation = call.number("extrapolation_value", 0),
             .exclude_outside = call.integer("exclude_outside", 0) != 0,
             .antialias = call.integer("antialias", 0) != 0,
             .sizes = x.shape(),
             .scales = std::vector<double>(x.rank(), 1.0),
             .begins = std::vector<double>(x.rank(), 0.0),
             .ends = std::vector<double>(x.rank(), 1.0)};
  if (r.mode == "bilinear") r.mode = "linear";
  if (r.mode != "nearest" && r.mode != "linear" && r.mode != "cubic")
    throw unsupported("its mode is '{}'", r.mode);
  Axes axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  axes = call.integers("axes", axes);
  for (std::int64_t& a : axes) a = normalize_axis(a, x.rank());
  const auto fits = [&](std::size_t count, std::string_view what) {
    if (count != axes.size()) throw error("it has {} {} for {} axes", count, what, axes.size());
  };
  const bool attribute = call.has("scales");
  const bool has_sizes = call.has(3);
  std::vector<double> scales;
  if (attribute)
    for (const float f : call.numbers("scales")) scales.push_back(static_cast<double>(f));
  else if (!has_sizes)
    scales = call.numbers(scales_at);
  if (!has_sizes) {
    fits(scales.size(), "scales");
    r.has_scales = true;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const auto i = static_cast<std::size_t>(axes[k]);
      if (!(scales[k] > 0)) throw error("a scale of {}", scales[k]);
      r.scales[i] = scales[k];
      const Dim& size = x.shape()[i];
      const bool is_whole = scales[k] == std::floor(scales[k]);
      if (!size.is_known() && !is_whole)
        throw unsupported("resizing an axis of unknown size ({}) by {}", size.str(), scales[k]);
      r.sizes[i] =
          is_whole
              ? size * Dim(static_cast<std::int64_t>(scales[k]))
              : Dim(static_cast<std::int64_t>(std::floor(static_cast<double>(size.value()) * scales[k])));
    }
  } else {
    const std::vector<Dim> sizes = call.sizes(3);
    fits(sizes.size(), "sizes");
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const auto i = static_cast<std::size_t>(axes[k]);
      r.sizes[i] = sizes[k];
      const bool known = sizes[k].is_known() && x.shape()[i].is_known();
      r.scales[i] =
          known ? static_cast<double>(sizes[k].value()) / static_cast<double>(x.shape()[i].value()) : 1;
    }
    const std::string policy = call.text("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch") {
      if (!known_sizes(x.shape()) || !known_sizes(r.sizes))
        throw unsupported("keep_aspect_ratio_policy of unknown sizes");
      keep_aspect_ratio(r, x, axes, policy == "not_smaller");
    }
  }
  if (r.coordinates == "tf_crop_and_resize") {
    const std::vector<double> roi = call.numbers(1);
    fits(roi.size() / 2, "regions");
    for (std::size_t k = 0; k < axes.size(); ++k) {
      r.begins[static_cast<std::size_t>(axes[k])] = roi[k];
      r.ends[static_cast<std::size_t>(axes[k])] = roi[axes.size() + k];
    }
  }
  return r;
}

Operands resize(Call& call) {
  const Ref x = call.tensor(0);
  return resized(call, x, resizing_of(call, x, call.version < 11 ? 1 : 2));
}

Operands upsample(Call& call) {
  const Ref x = call.tensor(0);
  Resizing r = resizing_of(call, x, 1);
  r.coordinates = "asymmetric";
  r.nearest_mode = "floor";
  return resized(call, x, r);
}

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

}  // namespace

std::span<const Entry> sampling_entries() {
  static constexpr std::array entries = {
      Entry{"AffineGrid", affine_grid}, Entry{"DeformConv", deform_conv}, Entry{"GridSample", grid_sample},
      Entry{"Resize", resize},          Entry{"RoiAlign", roi_align},     Entry{"Upsample", upsample},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
