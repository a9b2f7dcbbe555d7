// Products with a constant matrix that is kept in codes: linear, and matmul by a weight, whatever the device.
#pragma once
#include "kernels/code_range.h"
#include "runtime/calls/quantized_matrix.h"
#include "runtime/planner.h"

namespace tenon {

/// A group around [M, K] x [K, N], whose leading axes are rows. Values are those of the graph's body.
struct QuantizedMatmulCall {
  const Node* anchor;
  const Value* x;
  const Value* bias;       // of the anchor; null: none
  QuantizedMatrix matrix;  // whose numbers() there are
  CodeRange range;
  std::int64_t M;

  /// nullopt where the group has no such anchor, its right side is no such matrix, or there is nothing to
  /// compute.
  static std::optional<QuantizedMatmulCall> match(const Planner&, const Group&);
  /// weight_bytes: of the matrix, as the device keeps it.
  Work work(double weight_bytes) const;
};

/// Found once for all plans. nullopt: the matrix has no numbers().
std::optional<CodeRange> code_range(WeightStore&, const QuantizedMatrix&);

}  // namespace tenon
