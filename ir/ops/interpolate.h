// Resizing by PyTorch's rules.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

enum class InterpolateMode : std::uint8_t { nearest, nearest_exact, linear, cubic };
template <>
struct EnumNames<InterpolateMode> {
  static constexpr std::array names = {"nearest", "nearest_exact", "linear", "cubic"};
};

/// Resizes the spatial dims of x[N, C, ...] to `output`. `scales` (none, or one per spatial dim) are the
/// factors that places are computed with where they are positive, else output size / input size. Cubic
/// (a = -0.75) takes 2 dims.
struct Interpolate : WithReference<1> {
  static constexpr std::string_view name = "interpolate";
  InterpolateMode mode = InterpolateMode::nearest;
  Shape output;
  bool align_corners = false;
  std::vector<double> scales;
  static constexpr auto fields =
      std::tuple{field("mode", &Interpolate::mode), field("output", &Interpolate::output),
                 field("align_corners", &Interpolate::align_corners), field("scales", &Interpolate::scales)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
};

enum class AntialiasFilter : std::uint8_t { linear, cubic, lanczos };
template <>
struct EnumNames<AntialiasFilter> {
  static constexpr std::array names = {"linear", "cubic", "lanczos"};
};

/// Resizes the two spatial dims of x[N, C, H, W] to `output`: along a dim that shrinks, each pixel is an
/// average over all that it covers, weighed by a filter as wide. `scales` as in Interpolate.
struct InterpolateAntialiased : Composite<1> {
  static constexpr std::string_view name = "interpolate_antialiased";
  AntialiasFilter filter = AntialiasFilter::linear;
  Shape output;
  bool align_corners = false;
  std::vector<double> scales;
  static constexpr auto fields = std::tuple{field("filter", &InterpolateAntialiased::filter),
                                            field("output", &InterpolateAntialiased::output),
                                            field("align_corners", &InterpolateAntialiased::align_corners),
                                            field("scales", &InterpolateAntialiased::scales)};
  Type infer(const Type& x) const;
  Ref decompose(Ref x) const;
};

using Interpolations = OpList<Interpolate, InterpolateAntialiased>;

}  // namespace tenon
