// Products of matrices that are only known at run time, over broadcast batch axes of any strides, whatever
// the device.
#pragma once
#include <optional>

#include "runtime/planner.h"

namespace tenon {

/// A group around a matmul or a linear. Values are those of the graph's body.
struct BatchedMatmulCall {
  const Node* anchor = nullptr;
  const Value* left = nullptr;
  const Value* right = nullptr;
  const Value* bias = nullptr;       // of the anchor; null: none
  bool right_is_transposed = false;  // it lies as [N, K]

  /// nullopt where the group has no such anchor, its result is no matrix, or there is nothing to compute.
  static std::optional<BatchedMatmulCall> match(const Group&);
  /// The same of a group in which casts of bfloat16 are between one factor or both and the anchor: `left` and
  /// `right` are what they read.
  static std::optional<BatchedMatmulCall> match_halves(const Group&);
  Work work() const;

 private:
  static std::optional<BatchedMatmulCall> of(const Node& anchor, const Value* left, const Value* right);
};

/// One batch axis: how many products, and how far apart their operands lie.
struct BatchAxis {
  std::int64_t size = 1, a = 0, b = 0, c = 0;
};

/// How a, b and c lie: one product [M, K] x [K, N], and batch axes, the last of which moves fastest. Axes
/// that one step of each operand walks through are one; products with one b that lie one behind the other are
/// one product of more rows.
struct BatchedLayout {
  std::int64_t M = 0, N = 0, K = 0;
  std::int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0, c_row = 0;
  std::vector<BatchAxis> batch;

  /// Operands as the anchor has them; `right` as the call's.
  static BatchedLayout of(const Strided& left, const Strided& right, bool right_is_transposed,
                          const Strided& result);
};

}  // namespace tenon
