// Writing IR as ordinary expressions: a Ref is a value with the place where new nodes go.
#pragma once
#include <span>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// Where nodes are added: before `before` in `region` (at its end when null), each with this source.
struct Place {
  Region* region = nullptr;
  Node* before = nullptr;
  Source source = {};
};

/// A value that can be computed with. Pointwise operators broadcast; a number becomes a literal of the
/// other operand's dtype. Operator functions (exp, matmul, mean...) are declared beside the operators.
class Ref {
 public:
  Ref() = default;
  Ref(Value* value, const Place& place) : value_(value), place_(&place) {}

  explicit operator bool() const { return value_ != nullptr; }
  Value* value() const { return value_; }
  const Place& place() const { return *place_; }
  const Type& type() const { return value_->type(); }
  const Shape& shape() const { return value_->shape(); }
  DType dtype() const { return value_->dtype(); }
  std::size_t rank() const { return value_->rank(); }
  /// A literal of a dtype (by default this one's).
  Ref literal(double number) const { return literal(number, dtype()); }
  Ref literal(double number, DType dtype) const;

 private:
  Value* value_ = nullptr;
  const Place* place_ = nullptr;
};

/// Adds a node; the place is that of the first input.
std::vector<Ref> apply_all(Op op, std::span<const Ref> inputs);
std::vector<Ref> apply_all(Op op, std::span<const Ref> inputs, const Place& place);
Ref apply(Op op, std::initializer_list<Ref> inputs);
Ref apply(Op op, std::span<const Ref> inputs);
/// For operators without inputs.
Ref apply(Op op, const Place& place);

/// Emits a scalar expression as primitive pointwise operators over the operands.
Ref emit(const Expr&, std::span<const Ref> operands);

}  // namespace tenon
