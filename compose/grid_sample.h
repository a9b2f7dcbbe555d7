// Images read at computed places.
#pragma once
#include <cstdint>

#include "ir/build.h"

namespace tenon {

enum class Interpolation : std::int64_t { linear, nearest, cubic };
/// What stands outside an image: 0, the nearest pixel, or the image mirrored.
enum class Outside : std::int64_t { zeros, border, reflection };

/// torch.nn.functional.grid_sample: x[N, C, spatial...] at grid[N, places..., x before y before z]. A place
/// lies in [-1, 1] over the centres of the outer pixels (align_corners) or their outer edges. In the dtype of
/// its operands.
Ref grid_sample(const Ref& x, const Ref& grid, Interpolation, Outside, bool align_corners);

}  // namespace tenon
