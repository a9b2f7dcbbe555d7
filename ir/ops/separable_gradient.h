// Gradients of linear operators that treat each axis alone: the matrix of an axis is what unit vectors
// become.
#pragma once
#include <functional>

#include "ir/build.h"

namespace tenon {

/// The rows of the unit matrix, of like's dtype.
Ref unit_vectors(const Dim& size, const Ref& like);

/// The gradient of an input of which a matrix [from, to] took one axis to that of grad.
Ref back_through(const Ref& grad, std::size_t axis, const Ref& matrix);

/// For operators on the spatial axes of x[N, C, ...], of an input of this shape. `one` applies the operator
/// along one axis, with `size` places there after it; the other spatial axes of what it is given have size 1.
Ref separable_gradient(const Ref& grad, const Shape& input,
                       const std::function<Ref(const Ref& x, std::size_t axis, const Dim& size)>& one);

}  // namespace tenon
