// Products with a constant matrix: linear, and matmul by a weight, whatever the device.
#pragma once
#include <optional>

#include "runtime/planner.h"

namespace tenon {

/// A group around [M, K] x [K, N], whose leading axes are rows. Values are those of the graph's body.
struct MatmulCall {
  const Node* anchor = nullptr;
  const Value* x = nullptr;
  const Value* bias = nullptr;  // of the anchor; null: none
  Tensor weight;                // [K, N], in any strides; maybe of 16 bits where x is float32
  std::int64_t M = 0, N = 0, K = 0;

  /// nullopt where the group has no such anchor, its right side is not known or no matrix, or there is
  /// nothing to compute.
  static std::optional<MatmulCall> match(const Planner&, const Group&);
  /// The same of a group in which a cast of bfloat16 is between x and the anchor: `x` is what it reads.
  static std::optional<MatmulCall> match_halves(const Planner&, const Group&);
  Work work() const;

 private:
  static std::optional<MatmulCall> of(const Planner&, const Group&, const Node& anchor, const Value* x);
};

}  // namespace tenon
