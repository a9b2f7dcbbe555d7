// Where advanced indexing puts its result: shared by the type rules, references and gradients of IndexAt,
// IndexPut.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// The shape of the indices broadcast together. Throws Error when they, or the axes, do not fit.
Shape index_places(const Type& x, const Axes& axes, TypeSpan indices);
/// The shape of x with the listed axes replaced by `places`: there when they are adjacent, else in front.
Shape indexed_shape(const Shape& x, const Axes& axes, const Shape& places);

}  // namespace tenon
