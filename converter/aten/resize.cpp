// Resizing of images.
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "converter/aten/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/interpolate.h"

namespace tenon::converter {

namespace {

/// The target size of a resize: sizes, or factors on the sizes there are.
Shape target_size(Call& call, const Ref& x, std::vector<double>& scales) {
  const std::size_t dims = x.rank() - 2;
  Shape out;
  if (call.has("output_size")) out = call.sizes("output_size");
  if (call.has("scale_factors")) {
    const AbstractValue factors = call.value("scale_factors");
    for (const AbstractValue& d : *items_of(factors)) scales.push_back(*d.get<double>());
  }
  constexpr const char* by_axis[] = {"scales_d", "scales_h", "scales_w"};
  if (scales.empty() && call.has("scales")) scales.push_back(call.number("scales"));
  for (std::size_t i = 3 - dims; i < 3; ++i)
    if (call.has(by_axis[i])) scales.push_back(call.number(by_axis[i]));
  if (!scales.empty() && scales.size() != dims)
    throw unsupported("{} scales for {} axes", scales.size(), dims);
  for (std::size_t i = out.size(); i < scales.size(); ++i) {
    constexpr std::int64_t finest = 1 << 10;  // of what is exact as a fraction
    const double scale = scales[i];
    const Dim size = x.shape()[i + 2];
    if (size.is_known()) {
      out.emplace_back(static_cast<std::int64_t>(static_cast<double>(size.value()) * scale));
    } else if (scale * finest == std::trunc(scale * finest)) {
      out.push_back(floor_div(size * Dim(static_cast<std::int64_t>(scale * finest)), Dim(finest)));
    } else {
      const auto inverse = static_cast<std::int64_t>(1 / scale);
      if (inverse < 1 || 1 / scale != static_cast<double>(inverse))
        throw unsupported("resizing an axis of size {} by {}", size.str(), scale)
            .hint("give that dimension of the input a number");
      out.push_back(floor_div(size, Dim(inverse)));
    }
  }
  return out;
}

Results resized(Call& call, InterpolateMode mode, bool takes_corners) {
  const Ref x = call.tensor(call.find("input") ? "input" : "self");
  Interpolate op{.mode = mode};
  op.output = target_size(call, x, op.scales);
  if (takes_corners) op.align_corners = call.flag("align_corners", false);
  if (op.align_corners) op.scales.clear();
  return apply(op, {x});
}
Results nearest(Call& call) { return resized(call, InterpolateMode::nearest, false); }
Results nearest_exact(Call& call) { return resized(call, InterpolateMode::nearest_exact, false); }
Results linear(Call& call) { return resized(call, InterpolateMode::linear, true); }
Results cubic(Call& call) { return resized(call, InterpolateMode::cubic, true); }

/// What a place weighs at a distance from the centre, in pixels of the smaller image.
struct Filter {
  Ref (*weight)(const Ref& distance);
  double width;
};

Ref triangle(const Ref& d) { return maximum(1.0 - d, d.literal(0)); }
/// Keys' cubic with a = -0.5.
Ref keys(const Ref& d) {
  constexpr double a = -0.5;
  const Ref near = ((d * (a + 2) - (a + 3)) * d * d) + 1.0;
  const Ref far = ((d * a - 5 * a) * d + 8 * a) * d - 4 * a;
  return where(d < d.literal(1), near, where(d < d.literal(2), far, 0));
}
Ref lanczos(const Ref& d) {
  const auto sinc = [](const Ref& x) { return where(equal(x, x.literal(0)), x.literal(1), sin(x) / x); };
  const Ref x = d * std::numbers::pi;
  return where(d < d.literal(3), sinc(x) * sinc(x / 3.0), 0);
}

/// The matrix [out, in] that resizes one axis: where it shrinks, each pixel is an average over all it covers.
Ref antialiased(const Filter& filter, const Dim& in, const Dim& out, double scale, bool align_corners,
                const Ref& like) {
  const InsertionPoint& point = like.insertion_point();
  const Ref i = reshape(iota(out, point, DType::f64), {out, Dim(1)}), j = iota(in, point, DType::f64);
  const Ref sizes = dim_value(in, i), wanted = dim_value(out, i);
  const Ref step = align_corners ? where(wanted > wanted.literal(1),
                                         (sizes - 1.0) / maximum(wanted - 1.0, i.literal(1)), 0)
                   : scale > 0   ? i.literal(1 / scale)
                                 : sizes / wanted;
  const Ref spread = maximum(step, step.literal(1));
  const Ref centre = (i + 0.5) * step, support = spread * (filter.width / 2);
  const Ref first = maximum(trunc(centre - support + 0.5), i.literal(0));
  const Ref end = minimum(trunc(centre + support + 0.5), sizes);
  const Ref weight = filter.weight(abs((j - centre + 0.5) / spread));
  const Ref counted = where(logical_and(j >= first, j < end), weight, 0);
  const Ref total = sum(counted, {1}, true);
  return cast(like.dtype(), where(equal(total, total.literal(0)), counted, counted / total));
}

Results resized_antialiased(Call& call, const Filter& filter) {
  const Ref x = call.tensor(call.find("input") ? "input" : "self");
  if (!is_float(x.dtype())) throw unsupported("antialiased resizing of {}", x.type().str());
  std::vector<double> scales;
  const Shape size = target_size(call, x, scales);
  const bool corners = call.flag("align_corners", false);
  const auto matrix = [&](std::size_t axis) {
    return antialiased(filter, x.shape()[axis + 2], size[axis], axis < scales.size() ? scales[axis] : 0,
                       corners, x);
  };
  return matmul(matrix(0), matmul(x, transpose(matrix(1), 0, 1)));
}
Results linear_antialiased(Call& call) { return resized_antialiased(call, {triangle, 2}); }
Results cubic_antialiased(Call& call) { return resized_antialiased(call, {keys, 4}); }
Results lanczos_antialiased(Call& call) { return resized_antialiased(call, {lanczos, 6}); }

constexpr AtenEntry resize_table[] = {
    {"upsample_nearest1d", nearest},
    {"upsample_nearest2d", nearest},
    {"upsample_nearest3d", nearest},
    {"_upsample_nearest_exact1d", nearest_exact},
    {"_upsample_nearest_exact2d", nearest_exact},
    {"_upsample_nearest_exact3d", nearest_exact},
    {"upsample_linear1d", linear},
    {"upsample_bilinear2d", linear},
    {"upsample_trilinear3d", linear},
    {"upsample_bicubic2d", cubic},
    {"_upsample_bilinear2d_aa", linear_antialiased, HalfPrecision::in_f32},
    {"_upsample_bicubic2d_aa", cubic_antialiased, HalfPrecision::in_f32},
    {"_upsample_lanczos2d_aa", lanczos_antialiased, HalfPrecision::in_f32},
};

}  // namespace

std::span<const AtenEntry> resize_entries() { return resize_table; }

}  // namespace tenon::converter
