// Places that several tensors of indices name together.
#pragma once
#include "ir/ops/index_places.h"
#include "runtime/planner.h"

namespace tenon {

/// Rows of x, seen as [outer, rows, row], that advanced indexing names: the listed axes are the rows.
struct IndexedRows {
  const Value* x = nullptr;
  Axes axes;
  std::span<Value* const> indices;  // one for each axis
  Index places;                     // their sizes, broadcast together
  Order order;                      // of x's axes, so that the listed ones are neighbours
  std::int64_t outer = 1, rows = 1, row = 1;

  /// nullopt where there is nothing to move, or the kernel does not take the indices.
  static std::optional<IndexedRows> match(const Value* x, const Axes& axes, std::span<Value* const> indices);
  std::int64_t count() const { return numel(places); }
};

/// The numbers of the rows (i64, dense), counted from the start; a wrong index is the error of the step that
/// finds them.
PlannedTensor numbers_of_rows(Planner&, const IndexedRows&);
/// The same, but an index of the k-th axis counts `steps[k]`.
PlannedTensor offsets_of_rows(Planner&, const IndexedRows&, std::span<const std::int64_t> steps);
double estimate_numbers_of_rows(const Planner&, const IndexedRows&);

}  // namespace tenon
