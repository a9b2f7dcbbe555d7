// Resizing: one axis at a time, or PyTorch's interpolation where that does the same.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/interpolate.h"

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

/// PyTorch's nearest element of a map is that of a factor of 1 or 2 wherever the size stays or doubles,
/// ONNX's that of the factor given. False where they may differ.
bool agrees_on_nearest(const Resizing& r, const Ref& x) {
  for (std::size_t axis = 2; r.has_scales && x.rank() == 4 && axis < 4; ++axis)
    for (const double whole : {1.0, 2.0}) {
      const bool rounds_down_to_it = r.scales[axis] > whole && r.scales[axis] < whole + 1;
      const Dim same = Dim(static_cast<std::int64_t>(whole)) * x.shape()[axis];
      if (rounds_down_to_it && known_equal(r.sizes[axis], same) != false) return false;
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
    if (!agrees_on_nearest(r, x)) return std::nullopt;
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
}  // namespace

std::span<const OnnxEntry> resize_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"Resize", resize},
      OnnxEntry{"Upsample", upsample},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
