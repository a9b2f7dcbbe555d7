// index_select, and index along one axis: rows copied from where indices say, whatever the device.
#pragma once
#include <optional>

#include "runtime/planner.h"

namespace tenon {

/// out[o][i] = table[o][indices[i]] for rows of `row` elements.
struct GatherCall {
  const Value* table = nullptr;
  const Value* indices = nullptr;
  std::int64_t outer = 1;
  std::int64_t count = 0;  // of indices
  std::int64_t table_rows = 0;
  std::int64_t row = 0;   // elements
  bool from_end = false;  // negative indices count from the end

  /// nullopt where the node is no such operator, or there is nothing to copy.
  static std::optional<GatherCall> match(const Group&);
  Work work() const;

  Index table_shape() const { return {outer, table_rows, row}; }
  Index out_shape() const { return {outer, count, row}; }
};

/// Strides of a tensor seen under this shape, the rows of which must be contiguous; else nullopt.
std::optional<Index> strides_as(const Strided&, const Index& shape);

}  // namespace tenon
