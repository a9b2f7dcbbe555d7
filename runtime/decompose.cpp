#include "runtime/decompose.h"

#include <algorithm>
#include <span>
#include <vector>

#include "ir/build.h"
#include "ir/ops/control.h"
#include "ir/ops/shape.h"
#include "ir/outline.h"

namespace tenon {
namespace {

// Reshapes of a group's operands and results become nodes around it: views, so that what is between them can
// be one loop. Returns the first node.
Node* reshapes_outside(Node& group) {
  Region &body = group.parent(), &inside = group.region();
  Node* first = &group;
  for (std::size_t i = 0; i < inside.parameters().size(); ++i) {
    Value* parameter = inside.parameters()[i].get();
    const std::vector<Use> uses(parameter->uses().begin(), parameter->uses().end());
    if (uses.size() != 1 || !uses[0].node || !uses[0].node->is<Reshape>()) continue;
    Node& reshape = *uses[0].node;
    if (&reshape.parent() != &inside) continue;
    const Type type = reshape.output()->type();
    Node* before = body.insert(reshape.op(), {group.input(i)}, &group, group.source);
    if (first == &group) first = before;
    group.set_input(i, before->output());
    replace_all_uses(reshape.output(), parameter);
    inside.erase(&reshape);
    parameter->set_type(type);
  }
  for (std::size_t i = 0; i < inside.results().size(); ++i) {
    Node* reshape = inside.results()[i]->node();
    if (!reshape || !reshape->is<Reshape>() || reshape->output()->uses().size() != 1 ||
        !reshape->input()->node())
      continue;
    Node* after = body.insert_typed(reshape->op(), {group.output(i)}, {reshape->output()->type()}, 0,
                                    body.next(&group), group.source);
    group.output(i)->set_type(reshape->input()->type());
    inside.set_result(i, reshape->input());
    inside.erase(reshape);
    replace_all_uses(group.output(i), after->output());
    after->set_input(0, group.output(i));
  }
  return first;
}

// A composite operator becomes a fused group of its parts, so that they can still become one loop.
Node* open_composite(Node& node) {
  Region& body = node.parent();
  std::vector<Type> types;
  for (std::size_t i = 0; i < node.num_outputs(); ++i) types.push_back(node.output(i)->type());
  Node* group = body.insert_typed(Fused{}, node.inputs(), std::move(types), 1, &node, node.source);
  Region& inside = group->region();
  const InsertionPoint place{&inside, nullptr, node.source};
  std::vector<Ref> operands;
  for (const Value* v : node.inputs()) operands.emplace_back(inside.add_parameter(v->type()), place);
  for (const Ref& result : node.op().info().decompose(node.op().self(), operands))
    inside.add_result(result.value());
  decompose_composites(inside);
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    if (!node.output(i)->uses().empty()) replace_all_uses(node.output(i), group->output(i));
  body.erase(&node);
  return reshapes_outside(*group);
}

// Pointwise operators of a group are still one loop.
Node* join(std::span<Node* const> members) {
  const bool are_loop = members.size() > 1 && std::all_of(members.begin(), members.end(), [](const Node* n) {
                          return n->op().is_pointwise();
                        });
  return are_loop ? outline(members) : nullptr;
}

// An anchor, and one loop before and one behind it; without an anchor the members.
Node* open_group(Node& group) {
  std::vector<Node*> members;
  for (const auto& node : group.region().nodes()) members.push_back(node.get());
  Node* const first = group.parent().inline_region(&group, 0);
  const auto is_anchor = [](const Node* n) { return n->op().info().anchor; };
  const auto anchor = std::find_if(members.begin(), members.end(), is_anchor);
  if (anchor == members.end() || std::count_if(members.begin(), members.end(), is_anchor) != 1) return first;
  join({anchor + 1, members.end()});
  Node* const before = join({members.begin(), anchor});
  return before ? before : first;
}

}  // namespace

bool has_parts(const Node& node) { return node.is<Fused>() || node.op().info().op_kind == OpKind::composite; }

Node* decompose(Node& node) { return node.is<Fused>() ? open_group(node) : open_composite(node); }

void decompose_composites(Region& region) {
  const Node* before = nullptr;  // the last that is no composite
  for (Node* node = region.nodes().empty() ? nullptr : region.nodes().front().get(); node;) {
    Node* next = region.next(node);
    if (node->op().info().op_kind == OpKind::composite) {
      const InsertionPoint place{&region, node, node->source};
      std::vector<Ref> operands;
      for (Value* v : node->inputs()) operands.emplace_back(v, place);
      const auto parts = node->op().info().decompose(node->op().self(), operands);
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (!node->output(i)->uses().empty()) replace_all_uses(node->output(i), parts[i].value());
      region.erase(node);
      // The parts may be composites themselves.
      next = before ? region.next(before) : region.nodes().front().get();
    } else {
      before = node;
    }
    node = next;
  }
}

}  // namespace tenon
