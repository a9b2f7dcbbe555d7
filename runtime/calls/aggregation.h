// Sums of rows by index: index_add, alone or behind the gather and weighting of a graph network's edges;
// whatever the device.
#pragma once
#include <optional>

#include "runtime/planner.h"

namespace tenon {

/// out[target] = start[target] + sum of weight * x[source] over the edges. Values of the graph's body.
struct Aggregation {
  const Value* start = nullptr;
  const Value* targets = nullptr;
  const Value* x = nullptr;
  const Value* sources = nullptr;  // null: edge i takes row i
  bool targets_from_end = false;   // negative targets count from the end
  bool sources_from_end = false;   // negative sources count from the end
  const Value* weights = nullptr;  // null: 1
  std::int64_t rows = 0, cols = 0, edges = 0;
  std::int64_t features = 0;  // of a row: what lies behind the first axis
  std::int64_t groups = 0;    // equal runs of a row's features, each with its weight; 0: no weights

  /// nullopt where the group is no such sum, or there is nothing to add.
  static std::optional<Aggregation> match(const Group&);
  Work work() const;
  /// The distance between rows of a tensor whose rows, of so many elements, are contiguous; nullopt for
  /// others.
  static std::optional<std::int64_t> row_stride(const Strided&, std::int64_t elements);
};

}  // namespace tenon
