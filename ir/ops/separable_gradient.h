// Gradients of linear operators that treat each spatial axis of x[N, C, ...] alone.
#pragma once
#include <functional>

#include "ir/build.h"

namespace tenon {

/// The gradient of an input of this shape. `one` applies the operator along one axis, with `size` places
/// there after it; the other spatial axes of what it is given have size 1. It is applied to unit vectors,
/// which gives the matrix of the axis.
Ref separable_gradient(const Ref& grad, const Shape& input,
                       const std::function<Ref(const Ref& x, std::size_t axis, const Dim& size)>& one);

}  // namespace tenon
