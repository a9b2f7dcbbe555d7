// Sums of rows by index, with what comes before them: as graph networks add up weighted rows over their
// edges.
#pragma once
#include <functional>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// What an index_add along axis 0 sums up: weights * rows[sources].
struct RowSum {
  const Value* rows = nullptr;
  const Value* sources = nullptr;  // null: edge i takes row i
  bool sources_from_end = false;   // negative sources count from the end
  /// Null: 1. The shape is that of the edges' rows, with 1 for none, some or all of the last axes: the
  /// elements of a row are cut into equal runs, and each run has its weight.
  const Value* weights = nullptr;
  std::vector<const Node*> members;  // the sum, and before it multiplication, gather, reshapes of rows
};

/// Follows the operands of `sum` for as long as `takes` agrees to a node. Members are in the order of the
/// graph.
RowSum row_sum(const Node& sum, const std::function<bool(const Node&)>& takes);

}  // namespace tenon
