#include "ir/build.h"

#include "base/error.h"

namespace tenon {

void ShapeView::throw_no_axis(std::size_t axis) const {
  // Counted from the end, an axis that is not there is a huge number.
  const auto signed_axis = static_cast<std::ptrdiff_t>(axis);
  throw error("an operand of shape {} has no axis {}", str(shape_), signed_axis);
}

void Ref::throw_no_value() { throw error("an operand that the operator needs is not given"); }

Ref Ref::literal(double number, DType dtype) const {
  return Ref(insertion_point_->region->literal(dtype, number), *insertion_point_);
}

std::vector<Ref> apply_all(Op op, std::span<const Ref> inputs, const InsertionPoint& point) {
  std::vector<Value*> values;
  for (const Ref& r : inputs) values.push_back(r.value());
  Node* node = point.region->insert(std::move(op), std::move(values), point.before, point.source);
  std::vector<Ref> out;
  for (std::size_t i = 0; i < node->num_outputs(); ++i) out.emplace_back(node->output(i), point);
  return out;
}

std::vector<Ref> apply_all(Op op, std::span<const Ref> inputs) {
  TENON_CHECK(!inputs.empty());
  return apply_all(std::move(op), inputs, inputs[0].insertion_point());
}

Ref apply(Op op, std::span<const Ref> inputs) { return apply_all(std::move(op), inputs)[0]; }

Ref apply(Op op, std::initializer_list<Ref> inputs) {
  return apply(std::move(op), std::span<const Ref>(inputs.begin(), inputs.size()));
}

Ref apply(Op op, const InsertionPoint& point) { return apply_all(std::move(op), {}, point)[0]; }

}  // namespace tenon
