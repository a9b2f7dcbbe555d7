// The order in which axes lie in memory, and what strides follow from it.
#pragma once
#include <optional>

#include "ir/strided.h"

namespace tenon {

/// How a device wants its memory laid out. The CPU's rules keep streams out of each other's cache sets.
struct MemoryRules {
  std::size_t alignment = 64;  // of buffers, in bytes; a power of two
  /// Rows of a multiple of this many bytes, in an order that is not row-major or where products read them,
  /// are kept `row_gap` bytes apart. 0: never.
  std::int64_t row_period = 0, row_gap = 0;
  /// Each new buffer of a page or more begins this much further from a page boundary than the one before; all
  /// of them at a multiple of it. A multiple of the alignment that divides the page; 0: anywhere.
  std::size_t page = 4096, page_skew = 0;
};

/// Axes, outermost first.
using Order = std::vector<std::int64_t>;

Order row_major(std::size_t rank);
/// N, then the spatial axes, then C (axis 1).
Order channels_last(std::size_t rank);
/// The order that the strides follow; axes of size 1 keep their place.
Order order_of(const Strided&);
bool is_channels_last(const Strided&);
bool last_axis_is_contiguous(const Strided&);

/// Strides of an array without gaps but those that the rules ask for. A row has this many elements; 0: it is
/// the last axis of an order that is not row-major.
Index strides_in(const Order& order, const Index& sizes, DType dtype, const MemoryRules&,
                 std::int64_t row = 0);

/// Seen as a matrix whose columns are the order's last axis and whose rows are all other axes: the distance
/// between rows. nullopt when columns are not contiguous or rows not evenly spaced.
std::optional<std::int64_t> row_stride(const Strided&, const Order&);

}  // namespace tenon
