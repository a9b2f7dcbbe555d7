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

/// Are they rows of a matrix, by indices of 32 or 64 bits? Then each index stands for a row of the result,
/// seen as a matrix.
bool chooses_rows(const Node& node);

}  // namespace tenon
