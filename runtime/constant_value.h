// Values that are computed from weights and literals alone, without a plan.
#pragma once
#include <string>

#include "ir/graph.h"

namespace tenon {

/// A value, and the fused node in whose body it stands (null: none). What stands for another value, a
/// parameter of a body or a result of a fused node, is that value.
class ConstantValue {
 public:
  explicit ConstantValue(const Value* value, const Node* group = nullptr);

  const Value* value() const { return value_; }
  /// What computes it; null for weights, literals and inputs.
  const Node* node() const { return value_->node(); }
  ConstantValue operand(std::size_t i) const { return ConstantValue(node()->input(i), group_); }

  /// False where it depends on an input of the model, an operator has regions, or it takes more than 256 of
  /// them, each counted as often as it is used: what follows computes each use.
  bool is_constant() const;
  /// Computed now, by the operators' references; what depends on each byte of a weight alone, by a table of
  /// 256.
  Tensor evaluate() const;
  /// All that it is made of, one text for one value among those of a session.
  std::string text() const;
  /// The first weight that it is made of; undefined where there is none.
  Tensor first_weight() const;

 private:
  bool is_constant(int& operators_left) const;
  const Value* byte_weight() const;
  Tensor evaluate(const Value* known, const Tensor& as) const;

  const Value* value_;
  const Node* group_;
};

}  // namespace tenon
