// Folds rows into the places that indices name.
#pragma once
#include "kernels/gpu/placed_fold_source.h"
#include "runtime/gpu/placement.h"

namespace tenon::gpu {

/// Complex numbers are folded part by part.
bool folds_rows(PlacedReduce, DType);

/// All of one type; seen as [outer, places, features] (of `values` [outer, rows, features]), the features of
/// each row contiguous.
struct PlacedFold {
  PlacedReduce reduce = PlacedReduce::sum;
  PlannedTensor x, values, result;
  bool with_self = true;                 // x is folded, too, where a place has entries
  std::optional<PlannedTensor> weights;  // [entries, groups], of equal runs of features; groups contiguous
};

/// Adds the launch that computes the node's result.
void emit_placed_fold(Planner&, const Node&, const PlacedEntries&, const PlacedFold&);

/// The value as [outer, rows, features] with contiguous features: as it lies, or a dense copy.
PlannedTensor in_rows(Planner&, const Value*, const Index& shape);
/// The result of a node, with axes in this order, seen so: over the memory of the operand `x`, of which
/// `x_rows` is a view, if nobody needs it any more; then only the places with entries are written.
PlannedTensor result_in_rows(Planner&, const Node&, const Value* x, const PlannedTensor& x_rows,
                             const Order& order, const Index& shape);
/// With axes in row-major order.
PlannedTensor result_in_rows(Planner&, const Node&, const Value* x, const PlannedTensor& x_rows);

}  // namespace tenon::gpu
