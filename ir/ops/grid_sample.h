// Images read at computed places.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

enum class SampleMode : std::uint8_t { linear, nearest, cubic };
template <>
struct EnumNames<SampleMode> {
  static constexpr std::array names = {"linear", "nearest", "cubic"};
};
/// What stands outside an image: 0, the nearest pixel, or the image mirrored.
enum class Outside : std::uint8_t { zeros, border, reflection };
template <>
struct EnumNames<Outside> {
  static constexpr std::array names = {"zeros", "border", "reflection"};
};

/// torch.nn.functional.grid_sample: x[N, C, spatial...] at grid[N, places..., x before y before z]. A place
/// lies in [-1, 1] over the centres of the outer pixels (align_corners) or their outer edges. In the dtype of
/// its operands. Cubic takes 2 spatial dims.
struct GridSample : Composite<2> {
  static constexpr std::string_view name = "grid_sample";
  SampleMode mode = SampleMode::linear;
  Outside outside = Outside::zeros;
  bool align_corners = false;
  static constexpr auto fields =
      std::tuple{field("mode", &GridSample::mode), field("outside", &GridSample::outside),
                 field("align_corners", &GridSample::align_corners)};
  Type infer(const Type& x, const Type& grid) const;
  Ref decompose(Ref x, Ref grid) const;
};

using GridSamples = OpList<GridSample>;

}  // namespace tenon
