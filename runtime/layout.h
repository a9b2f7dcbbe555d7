// The order in which axes lie in memory, and what strides follow from it.
#pragma once
#include <optional>

#include "ir/strided.h"

namespace tenon {

/// Axes, outermost first.
using Order = std::vector<std::int64_t>;

Order row_major(std::size_t rank);
/// N, then the spatial axes, then C (axis 1).
Order channels_last(std::size_t rank);
/// The order that the strides follow; axes of size 1 keep their place.
Order order_of(const Strided&);
bool is_channels_last(const Strided&);
bool last_axis_is_contiguous(const Strided&);

/// Strides of an array without gaps, except that rows of 2 KiB multiples (which would all meet in the same L1
/// sets) are kept apart by 16 more elements where the order is not row-major.
Index strides_in(const Order& order, const Index& sizes, DType dtype);

/// Seen as a matrix whose columns are the order's last axis and whose rows are all other axes: the distance
/// between rows. nullopt when columns are not contiguous or rows not evenly spaced.
std::optional<std::int64_t> row_stride(const Strided&, const Order&);

}  // namespace tenon
