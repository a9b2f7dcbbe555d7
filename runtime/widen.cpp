#include "runtime/widen.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/ops/cast.h"
#include "ir/ops/control.h"
#include "runtime/device.h"
#include "runtime/group.h"
#include "runtime/shared/general.h"

namespace tenon {
namespace {

bool is_small(const Value* v) { return is_small_float(v->dtype()); }

class Widening {
 public:
  Widening(Region& body, const Device& device) : body_(body), device_(device) {}

  void run() {
    for (Node *node = first(), *next = nullptr; node; node = next) {
      next = body_.next(node);
      const Group group(*node);
      if (const Node* anchor = widened_member(group)) replace(*node, group, *anchor);
    }
    for (auto cast = rounded_.rbegin(); cast != rounded_.rend(); ++cast)
      if ((*cast)->output()->uses().empty()) body_.erase(*cast);
  }

 private:
  Node* first() const { return body_.nodes().empty() ? nullptr : body_.nodes().front().get(); }

  const Node* widened_member(const Group& group) const {
    for (const Node* member : group.members()) {
      const bool widens =
          std::any_of(device_.lowerings.begin(), device_.lowerings.end(),
                      [&](const OpLowering& l) { return l.widens && l.op == &member->op().info(); });
      if (widens && member->num_outputs() == 1 && is_small(member->output())) return member;
    }
    return nullptr;
  }

  /// In place of the node a group whose anchor is float32, and casts of its results to their types behind it.
  void replace(Node& node, const Group& group, const Node& anchor) {
    std::vector<Type> types;
    for (const Value* result : group.results())
      types.push_back({is_small(result) ? DType::f32 : result->dtype(), result->shape()});
    Node* made = body_.insert_typed(Fused{}, {}, types, 1, &node, node.source);
    fill(*made, group, anchor);
    Node* after = body_.next(&node);
    for (std::size_t i = 0; i < types.size(); ++i) {
      Value* old = node.output(i);
      Value* replacement = made->output(i);
      if (is_small(old)) {
        Node* rounded = body_.insert(Cast{.to = old->dtype()}, {made->output(i)}, after, node.source);
        wide_[rounded->output()] = made->output(i);
        rounded_.push_back(rounded);
        replacement = rounded->output();
      }
      replacement->origin = old->origin;
      replacement->set_name(old->name());
      replace_all_uses(old, replacement);
    }
    body_.erase(&node);
  }

  void fill(Node& made, const Group& group, const Node& anchor) {
    Region& inside = made.region();
    std::unordered_map<const Value*, Value*> copies;     // of values of the group
    std::map<std::pair<const Value*, bool>, Value*> in;  // parameters: of a value, widened or not
    const auto read = [&](Value* inner, bool widened) -> Value* {
      if (const auto copy = copies.find(inner); copy != copies.end())
        return widened ? inside.insert(Cast{.to = DType::f32}, {copy->second})->output() : copy->second;
      auto* outer = const_cast<Value*>(group.outer(inner));
      if (outer->kind() == Value::Kind::literal) {
        Value* literal = inside.literal(outer->tensor());
        return widened ? inside.insert(Cast{.to = DType::f32}, {literal})->output() : literal;
      }
      Value*& parameter = in[{outer, widened}];
      if (!parameter) {
        Value* operand = widened ? wide(outer, made) : outer;
        made.add_input(operand);
        parameter = inside.add_parameter(operand->type());
      }
      return parameter;
    };
    for (const Node* member : group.members()) {
      std::vector<Value*> operands;
      for (Value* v : member->inputs()) operands.push_back(read(v, member == &anchor && is_small(v)));
      Node* copy = inside.insert(member->op(), std::move(operands), nullptr, member->source);
      if (member == &anchor)
        copy = inside.insert(Cast{.to = anchor.output()->dtype()}, {copy->output()}, nullptr, member->source);
      for (std::size_t i = 0; i < member->num_outputs(); ++i) {
        copies[member->output(i)] = copy->output(i);
        copy->output(i)->origin = member->output(i)->origin;
      }
    }
    for (const Value* result : group.results()) {
      Value* copy = copies.at(result);
      inside.add_result(is_small(copy) ? inside.insert(Cast{.to = DType::f32}, {copy})->output() : copy);
    }
  }

  /// The value as float32, for `user`.
  Value* wide(Value* value, Node& user) {
    Value*& found = wide_[value];
    if (!found) found = body_.insert(Cast{.to = DType::f32}, {value}, &user, user.source)->output();
    return found;
  }

  Region& body_;
  const Device& device_;
  std::unordered_map<const Value*, Value*> wide_;
  std::vector<Node*> rounded_;  // the casts behind groups
};

}  // namespace

void widen_small_floats(Graph& graph, const Device& device) { Widening(graph.body(), device).run(); }

bool is_widened_from(const Value* value, DType type) {
  const Node* node = value->node();
  if (!node) return false;
  if (node->is<Fused>()) return is_widened_from(node->region().results()[value->index()], type);
  if (is_view(node->op())) return is_widened_from(node->input(0), type);
  return node->is<Cast>() && node->input()->dtype() == type;
}

}  // namespace tenon
