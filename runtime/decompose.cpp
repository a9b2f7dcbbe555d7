#include "runtime/decompose.h"

#include "ir/build.h"
#include "ir/ops/control.h"

namespace tenon {
namespace {

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
  return group;
}

}  // namespace

bool has_parts(const Node& node) { return node.is<Fused>() || node.op().info().op_kind == OpKind::composite; }

Node* decompose(Node& node) {
  return node.is<Fused>() ? node.parent().inline_region(&node, 0) : open_composite(node);
}

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
