// Sizes and places as PyTorch's arguments give them: -1, negative axes, open ends.
#pragma once
#include <vector>

#include "converter/aten/call.h"
#include "ir/type.h"

namespace tenon::converter {

/// An axis, from 0, as an index.
inline std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }
/// A size list with at most one -1, which takes what is left of `count` elements.
Shape resolved_shape(std::vector<Dim> sizes, const Dim& count);
/// Bounds of x[start:end:step] as Slice wants them: inside [0, size], end >= start, 0 < step.
struct Bounds {
  Dim start, end;
};
Bounds slice_bounds(Builder&, const AbstractValue* start, const AbstractValue* end, const Dim& size);
/// The sizes of an expand: -1 keeps the size that is there.
Shape expanded_shape(std::vector<Dim> sizes, const Shape& from);
/// Where a mask (or anything else) is not zero: for each axis the places of those elements, in row-major
/// order.
std::vector<Ref> true_places(Builder&, const Ref& mask);
/// The same as a list of tensors; a rank-0 tensor counts as a vector of one element.
AbstractValue list_of_places(Builder&, const Ref& mask);
/// x[start:end:step] whose bounds are numbers that the model computes (an empty Ref: open).
TensorPtr sliced_unknown(Builder&, const TensorPtr& x, std::int64_t axis, const Ref& start, const Ref& end,
                         std::int64_t step);
/// x.select(axis, index): the axis goes.
TensorPtr select(Builder&, const TensorPtr& x, std::int64_t axis, const Dim& index);
/// The same for a rank-0 index that is not known; negative ones count from the end.
TensorPtr select_unknown(Builder&, const TensorPtr& x, std::int64_t axis, const Ref& index);
/// A view of another shape with the same elements.
TensorPtr reshaped(Builder&, const TensorPtr& x, Shape shape);
/// A slice of one axis.
TensorPtr sliced(Builder&, const TensorPtr& x, std::int64_t axis, Dim start, Dim end, std::int64_t step = 1);
/// A view with axes in another order.
TensorPtr permuted(Builder&, const TensorPtr& x, std::vector<std::int64_t> axes);

}  // namespace tenon::converter
