// Slices along one axis that one tensor of indices names: what index_select, and index along one axis, have
// in common.
#pragma once
#include <optional>

#include "ir/graph.h"

namespace tenon {

/// Operand 1 holds the indices; their axes stand in the result where `axis` stood.
struct SlicesByIndex {
  std::size_t axis = 0;
  bool from_end = false;  // negative indices count from the end
};

std::optional<SlicesByIndex> slices_by_index(const Node& node);

}  // namespace tenon
