#include "runtime/widen_integers.h"

#include <algorithm>

#include "ir/ops/cast.h"
#include "ir/ops/control.h"
#include "ir/ops/conv.h"
#include "ir/ops/index.h"
#include "ir/ops/linear.h"
#include "runtime/decompose.h"
#include "runtime/device.h"
#include "runtime/group.h"

namespace tenon {

void widen_integers(Graph& graph, const Device& device) {
  Region& body = graph.body();
  const auto widened = [](const Node& node, const Value* v) {
    const DType type = v->dtype();
    const bool is_integer = is_bool(type) || is_integral(type);
    if (!is_integer || node.is<OneHot>()) return is_integer ? DType::i64 : type;
    return type == DType::i64 || type == DType::u64 ? DType::i64 : DType::i32;
  };
  const auto widens = [&](const Node& node) {
    const bool computes = node.is<MatMul>() || node.is<Linear>() || node.is<Conv>() ||
                          node.is<ConvTranspose>() || node.is<OneHot>();
    return computes && widened(node, node.input()) != node.input()->dtype() &&
           std::any_of(device.lowerings.begin(), device.lowerings.end(),
                       [&](const OpLowering& l) { return l.widens && l.op == &node.op().info(); });
  };
  for (Node *node = body.nodes().empty() ? nullptr : body.nodes().front().get(), *next = nullptr; node;
       node = next) {
    next = body.next(node);
    if (node->is<Fused>()) {
      const Group group(*node);
      if (std::ranges::any_of(group.members(), [&](const Node* m) { return widens(*m); }))
        next = decompose(*node);
      continue;
    }
    if (!widens(*node)) continue;
    const auto as = [&](DType type, Value* v) {
      return v->dtype() == type ? v : body.insert(Cast{.to = type}, {v}, node, node->source)->output();
    };
    std::vector<Value*> operands;
    for (Value* v : node->inputs()) operands.push_back(as(widened(*node, v), v));
    const Node* made = body.insert(node->op(), std::move(operands), node, node->source);
    Value* const old = node->output();
    Value* const result = as(old->dtype(), made->output());
    result->origin = old->origin;
    result->set_name(old->name());
    replace_all_uses(old, result);
    body.erase(node);
  }
}

}  // namespace tenon
