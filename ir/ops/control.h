// Operators that carry regions.
#pragma once
#include "ir/define.h"

namespace tenon {

/// A group that one kernel computes: an anchor (convolution, matmul, ...) with pointwise operators and row
/// reductions around it, or these alone. The body's parameters are the operands, one for one; its results
/// are the outputs. Made by fusion, run as one step.
struct Fused : Operator {
  static constexpr std::string_view name = "fused";
  static constexpr Meaning meaning = Meaning::kernel;
  static constexpr int min_inputs = 0, max_inputs = -1, regions = 1;
  std::vector<Type> infer(std::span<const Type>) const;
  void reference(std::span<const Tensor>, std::span<Tensor>) const;
};

using Control = OpList<Fused>;

}  // namespace tenon
