// Where advanced indexing puts its result: shared by the type rules and references of IndexAt and IndexPut.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// Position of the places' axes in the result: that of the listed axes when they are adjacent, else 0.
std::size_t places_front(const Axes& axes);
/// The shape of the indices broadcast together. Throws Error when they, or the axes, do not fit.
Shape index_places(const Type& x, const Axes& axes, TypeSpan indices);
/// The shape of x with the listed axes replaced by `places`: there when they are adjacent, else in front.
Shape indexed_shape(const Shape& x, const Axes& axes, const Shape& places);

/// The same on known shapes.
Index places_of(InSpan indices);
/// The permutation that brings the listed axes to the front, in the order listed.
Axes listed_first(std::size_t rank, const Axes& axes);
/// The permutation that brings `places` axes standing at `front` to the front.
Axes places_first(std::size_t rank, std::size_t front, std::size_t places);

/// For each place, which row of x it names, when the listed axes stand in front and a row is what follows
/// them.
struct PlaceList {
  /// Throws Error for an index outside [-size, size).
  PlaceList(const Tensor& x, const Axes& axes, InSpan indices, const Index& places);
  std::int64_t count;
  std::vector<std::int64_t> row;
};

}  // namespace tenon
