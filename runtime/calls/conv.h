// Convolutions, whatever the device.
#pragma once
#include <optional>

#include "ir/ops/conv.h"
#include "kernels/conv_shape.h"
#include "runtime/planner.h"

namespace tenon {

/// Of a convolution with one to three spatial axes, whose operands have these sizes.
ConvShape conv_shape(const Conv&, const Index& x, const Index& weights);
ConvShape conv_shape(const ConvTranspose&, const Index& x, const Index& weights);

/// A group around a convolution or a transposed one. Values are those of the graph's body.
struct ConvCall {
  const Node* anchor = nullptr;
  const Value* x = nullptr;
  const Value* bias = nullptr;  // of the anchor; null: none
  const Value* weights_value = nullptr;
  Tensor weights;  // undefined where they are not known; maybe of 16 bits where x is float32
  ConvShape shape;

  /// nullopt where the group has no such anchor, its weights are not known, or it has more than three spatial
  /// axes.
  static std::optional<ConvCall> match(const Planner&, const Group&);
  /// The same with weights that may be computed.
  static std::optional<ConvCall> match_any_weights(const Planner&, const Group&);
  /// The same, but weights are not looked at; where the group begins with what makes float32 of an image of
  /// bytes (ScaledBytes), that image is x.
  static std::optional<ConvCall> match_shape(const Group&);
  /// As match_any_weights, where the group begins with casts of its image, its weights or both from bfloat16
  /// (runtime/widen.h): `x` and `weights_value` are what these cast.
  static std::optional<ConvCall> match_halves(const Planner&, const Group&);
  /// Of operands of one dtype.
  Work work() const;

 private:
  static std::optional<ConvCall> call_of(const Group&, const Node& anchor, const Value* x);
  void take_weights(const Planner&);
};

}  // namespace tenon
