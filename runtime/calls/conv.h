// Convolutions with constant weights, whatever the device.
#pragma once
#include <optional>

#include "kernels/conv_shape.h"
#include "runtime/planner.h"

namespace tenon {

/// A group around a convolution or a transposed one. Values are those of the graph's body.
struct ConvCall {
  const Node* anchor = nullptr;
  const Value* x = nullptr;
  const Value* bias = nullptr;  // of the anchor; null: none
  Tensor weights;
  ConvShape shape;

  /// nullopt where the group has no such anchor, its weights are not known, or it has more than three spatial
  /// axes.
  static std::optional<ConvCall> match(const Planner&, const Group&);
  /// Of operands of one dtype.
  Work work() const;
};

}  // namespace tenon
