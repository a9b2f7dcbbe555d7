#include "runtime/group.h"

#include <algorithm>

#include "ir/ops/control.h"
#include "ir/ops/custom.h"

namespace tenon {
namespace {

// All operators of users are one of ours; theirs is the name that says which.
std::string name_of(const Op& op) {
  const auto* custom = op.as<Custom>();
  return custom ? custom->operator_name() : std::string(op.name());
}

}  // namespace

Group::Group(const Node& node) : node_(&node) {
  if (!node.is<Fused>()) {
    members_.push_back(&node);
    for (std::size_t i = 0; i < node.num_outputs(); ++i) results_.push_back(node.output(i));
    return;
  }
  for (const auto& member : node.region().nodes()) members_.push_back(member.get());
  for (const Value* result : node.region().results()) results_.push_back(result);
}

Group Group::of(std::vector<const Node*> members) const {
  Group part = *this;
  part.members_ = std::move(members);
  return part;
}

bool Group::contains(const Value* value) const {
  return value->node() && std::find(members_.begin(), members_.end(), value->node()) != members_.end();
}

const Value* Group::outer(const Value* inner) const {
  const bool of_body = node_->is<Fused>() && inner->kind() == Value::Kind::parameter;
  return of_body ? node_->input(inner->index()) : inner;
}

std::vector<const Value*> Group::operands() const {
  std::vector<const Value*> found;
  for (const Node* member : members_)
    for (const Value* v : member->inputs())
      if (!contains(v) && std::find(found.begin(), found.end(), v) == found.end()) found.push_back(v);
  return found;
}

std::string Group::ops() const {
  std::string text;
  for (const Node* member : members_) {
    if (!text.empty()) text += '+';
    text += name_of(member->op());
  }
  return text;
}

std::string Group::text() const {
  std::string text = ops() + " ->";
  for (std::size_t i = 0; i < node_->num_outputs(); ++i)
    text += (i ? ", " : " ") + node_->output(i)->type().str();
  return text;
}

}  // namespace tenon
