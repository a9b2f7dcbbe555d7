// Shapes with an axis more or less.
#pragma once
#include "ir/type.h"

namespace tenon {

/// An axis of `size` more, at a place in [0, rank]. Throws Error.
Shape with_axis(Shape shape, std::int64_t at, Dim size = Dim(1));
/// Without the axis at a place in [0, rank). Throws Error.
Shape without_axis(Shape shape, std::int64_t at);

}  // namespace tenon
