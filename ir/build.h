// Writing IR as ordinary expressions: a Ref is a value with the place where new nodes go.
#pragma once
#include <span>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// Where nodes are added: before `before` in `region` (at its end when null), each with this source.
struct InsertionPoint {
  Region* region = nullptr;
  Node* before = nullptr;
  Source source = {};
};

/// The sizes of a value. An axis that it does not have throws Error: operators of a file may be given tensors
/// of any rank.
class ShapeView {
 public:
  explicit ShapeView(const Shape& shape) : shape_(shape) {}

  const Dim& operator[](std::size_t axis) const {
    if (axis >= shape_.size()) throw_no_axis(axis);
    return shape_[axis];
  }
  const Dim& front() const { return (*this)[0]; }
  const Dim& back() const { return (*this)[shape_.size() - 1]; }
  std::size_t size() const { return shape_.size(); }
  bool empty() const { return shape_.empty(); }
  auto begin() const { return shape_.begin(); }
  auto end() const { return shape_.end(); }
  operator const Shape&() const { return shape_; }
  friend bool operator==(const ShapeView& a, const ShapeView& b) { return a.shape_ == b.shape_; }
  friend bool operator==(const ShapeView& a, const Shape& b) { return a.shape_ == b; }

 private:
  [[noreturn]] void throw_no_axis(std::size_t axis) const;

  const Shape& shape_;
};

/// A value that can be computed with. Pointwise operators broadcast; a number becomes a literal of the
/// other operand's dtype. Operator functions (exp, matmul, mean...) are declared in ir/ops/functions.h.
class Ref {
 public:
  Ref() = default;
  Ref(Value* value, const InsertionPoint& point) : value_(value), insertion_point_(&point) {}

  explicit operator bool() const { return value_ != nullptr; }
  Value* value() const { return value_; }
  const InsertionPoint& insertion_point() const { return *insertion_point_; }
  /// Of no value: throws Error, an operand that the operator needs is not there.
  const Type& type() const {
    if (!value_) throw_no_value();
    return value_->type();
  }
  ShapeView shape() const { return ShapeView(type().shape); }
  DType dtype() const { return type().dtype; }
  std::size_t rank() const { return type().rank(); }
  /// A literal of a dtype (by default this one's).
  Ref literal(double number) const { return literal(number, dtype()); }
  Ref literal(double number, DType dtype) const;

 private:
  [[noreturn]] static void throw_no_value();

  Value* value_ = nullptr;
  const InsertionPoint* insertion_point_ = nullptr;
};

/// Adds a node; the place is that of the first input.
std::vector<Ref> apply_all(Op op, std::span<const Ref> inputs);
std::vector<Ref> apply_all(Op op, std::span<const Ref> inputs, const InsertionPoint& point);
Ref apply(Op op, std::initializer_list<Ref> inputs);
Ref apply(Op op, std::span<const Ref> inputs);
/// For operators without inputs.
Ref apply(Op op, const InsertionPoint& point);

/// Emits a scalar expression as primitive pointwise operators over the operands.
Ref emit(const Expr&, std::span<const Ref> operands);

}  // namespace tenon
