#include "runtime/group_copy.h"

#include "ir/ops/control.h"

namespace tenon {

GroupCopy::GroupCopy(Region& body, Node& before, const Group& group, const Type& result)
    : group_(group), made_(body.insert_typed(Fused{}, {}, {result}, 1, &before, before.source)) {}

Value* GroupCopy::read(const Value* outer) {
  Value*& copy = copies_[outer];
  if (!copy) copy = outer->kind() == Value::Kind::literal ? inside().literal(outer->tensor()) : take(outer);
  return copy;
}

Value* GroupCopy::operand(const Value* inner) {
  return read(group_.contains(inner) ? inner : group_.outer(inner));
}

void GroupCopy::add(const Node& member, std::vector<Value*> operands) {
  const Node* copy = inside().insert(member.op(), std::move(operands), nullptr, member.source);
  for (std::size_t i = 0; i < member.num_outputs(); ++i) {
    copies_[member.output(i)] = copy->output(i);
    copy->output(i)->origin = member.output(i)->origin;
  }
}

Value* GroupCopy::cast(DType to, Value* of, const Source& source) {
  return inside().insert(Cast{.to = to}, {of}, nullptr, source)->output();
}

Node* GroupCopy::finish(Value* result) {
  inside().add_result(result);
  return made_;
}

Value* GroupCopy::take(const Value* outer) {
  made_->add_input(const_cast<Value*>(outer));
  return inside().add_parameter(outer->type());
}

}  // namespace tenon
