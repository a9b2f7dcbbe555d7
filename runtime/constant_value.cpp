#include "runtime/constant_value.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/ops/control.h"
#include "ir/print.h"

namespace tenon {

ConstantValue::ConstantValue(const Value* value, const Node* group) : value_(value), group_(group) {
  while (true) {
    if (group_ && value_->kind() == Value::Kind::parameter) {
      value_ = group_->input(value_->index());
      group_ = nullptr;
    } else if (value_->node() && value_->node()->is<Fused>()) {
      group_ = value_->node();
      value_ = group_->region().results()[value_->index()];
    } else {
      return;
    }
  }
}

bool ConstantValue::is_constant() const {
  int operators_left = 256;
  return is_constant(operators_left);
}

bool ConstantValue::is_constant(int& operators_left) const {
  if (value_->is_constant()) return value_->tensor().defined();
  if (!node() || !node()->regions().empty() || operators_left-- == 0) return false;
  for (std::size_t i = 0; i < node()->inputs().size(); ++i)
    if (!operand(i).is_constant(operators_left)) return false;
  return true;
}

// The weight of 8-bit integers of which this is a function element by element; null where it is none.
const Value* ConstantValue::byte_weight() const {
  if (value_->kind() == Value::Kind::weight)
    return is_integral(value_->dtype()) && size_of(value_->dtype()) == 1 ? value_ : nullptr;
  if (!node() || !node()->op().is_pointwise()) return nullptr;
  const Value* weight = nullptr;
  for (std::size_t i = 0; i < node()->inputs().size(); ++i) {
    if (operand(i).value()->kind() == Value::Kind::literal) continue;
    const Value* of_operand = operand(i).byte_weight();
    if (!of_operand || (weight && weight != of_operand)) return nullptr;
    weight = of_operand;
  }
  return weight;
}

// With another tensor in the place of one value.
Tensor ConstantValue::evaluate(const Value* known, const Tensor& as) const {
  if (value_ == known) return as;
  if (value_->is_constant()) return value_->tensor();
  TENON_CHECK(node());
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < node()->inputs().size(); ++i)
    operands.push_back(known ? operand(i).evaluate(known, as) : operand(i).evaluate());
  return tenon::evaluate(node()->op(), operands).at(value_->index());
}

Tensor ConstantValue::evaluate() const {
  constexpr std::int64_t bytes = 256;
  const Value* weight = byte_weight();
  if (!weight || weight == value_ || weight->tensor().numel() <= bytes) return evaluate(nullptr, {});
  Tensor all = Tensor::empty(weight->dtype(), {bytes});
  for (std::int64_t i = 0; i < bytes; ++i) all.mutable_bytes()[i] = static_cast<std::byte>(i);
  const Tensor table = evaluate(weight, all).contiguous(), from = weight->tensor().contiguous();
  Tensor to = Tensor::empty(value_->dtype(), from.shape());
  dispatch_real(to.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const values = table.data<T>();
    const std::byte* const bytes_of = from.bytes();
    T* const out = to.mutable_data<T>();
    const std::int64_t count = from.numel();
    for (std::int64_t i = 0; i < count; ++i) out[i] = values[std::to_integer<int>(bytes_of[i])];
  });
  return to;
}

std::string ConstantValue::text() const {
  if (value_->kind() == Value::Kind::literal)
    return is_integral(value_->dtype())
               ? fmt::format("{}:{}", value_->tensor().get_int({}), name(value_->dtype()))
               : fmt::format("{}:{}", value_->tensor().get_double({}), name(value_->dtype()));
  if (value_->is_constant()) {
    const Tensor& t = value_->tensor();
    return fmt::format("@{}:{}[{}]({})", fmt::ptr(t.bytes()), name(t.dtype()), fmt::join(t.shape(), ","),
                       fmt::join(t.strides(), ","));
  }
  TENON_CHECK(node());
  std::string text = print(node()->op()) + "(";
  for (std::size_t i = 0; i < node()->inputs().size(); ++i) text += operand(i).text() + ";";
  return text + fmt::format("):{}", value_->index());
}

Tensor ConstantValue::first_weight() const {
  if (value_->kind() == Value::Kind::weight) return value_->tensor();
  for (std::size_t i = 0; node() && i < node()->inputs().size(); ++i)
    if (Tensor found = operand(i).first_weight(); found.defined()) return found;
  return {};
}

}  // namespace tenon
