// Resizing of images.
#include <cmath>

#include "base/error.h"
#include "converter/aten/table.h"
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
  if (takes_corners && !is_float(x.dtype())) throw unsupported("resizing of {} by weights", x.type().str());
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

Results resized_antialiased(Call& call, AntialiasFilter filter) {
  const Ref x = call.tensor(call.find("input") ? "input" : "self");
  if (!is_float(x.dtype())) throw unsupported("antialiased resizing of {}", x.type().str());
  InterpolateAntialiased op{.filter = filter};
  op.output = target_size(call, x, op.scales);
  op.align_corners = call.flag("align_corners", false);
  return apply(op, {x});
}
Results linear_antialiased(Call& call) { return resized_antialiased(call, AntialiasFilter::linear); }
Results cubic_antialiased(Call& call) { return resized_antialiased(call, AntialiasFilter::cubic); }
Results lanczos_antialiased(Call& call) { return resized_antialiased(call, AntialiasFilter::lanczos); }

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
