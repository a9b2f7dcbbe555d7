#include "runtime/gpu/zero_division.h"

#include <algorithm>

#include "ir/expr.h"

namespace tenon::gpu {
namespace {

bool is_known(const Expr& divisor, const Node& node) {
  const Expr::Node& d = divisor.node();
  if (d.kind == Expr::Kind::constant) return d.number != 0;
  if (d.kind != Expr::Kind::input) return false;
  const Value* value = node.input(static_cast<std::size_t>(d.input));
  return value->kind() == Value::Kind::literal && value->tensor().get_double({}) != 0;
}

bool divides_by_unknown(const Expr& e, const Node& node) {
  const Expr::Node& n = e.node();
  if (n.kind != Expr::Kind::prim) return false;
  if (divides(n.prim) && !is_known(n.args[1], node)) return true;
  return std::any_of(n.args.begin(), n.args.end(),
                     [&](const Expr& arg) { return divides_by_unknown(arg, node); });
}

}  // namespace

bool may_divide_by_zero(const Group& group) {
  return std::any_of(group.members().begin(), group.members().end(), [](const Node* member) {
    if (!member->op().is_pointwise()) return false;
    const auto& inputs = member->inputs();
    const bool integers =
        std::any_of(inputs.begin(), inputs.end(), [](const Value* v) { return !is_float(v->dtype()); }) &&
        std::none_of(inputs.begin(), inputs.end(), [](const Value* v) { return is_float(v->dtype()); });
    return integers && divides_by_unknown(expr_of(member->op()), *member);
  });
}

}  // namespace tenon::gpu
