// Slices along one axis that one tensor of indices names: what index_select, and index along one axis, have
// in common.
#pragma once
#include <optional>

#include "ir/graph.h"
#include "ir/ops/index.h"

namespace tenon {

/// Operand 1 holds the indices; their axes stand in the result where `axis` stood.
struct SlicesByIndex {
  std::size_t axis = 0;
  bool from_end = false;  // negative indices count from the end
};

inline std::optional<SlicesByIndex> slices_by_index(const Node& node) {
  if (const auto* op = node.as<IndexSelect>())
    return SlicesByIndex{static_cast<std::size_t>(op->axis), false};
  const auto* op = node.as<IndexAt>();
  if (!op || op->axes.size() != 1) return std::nullopt;
  return SlicesByIndex{static_cast<std::size_t>(op->axes[0]), true};
}

}  // namespace tenon
