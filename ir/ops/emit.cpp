// Scalar expressions as nodes: one primitive, one operator.
#include <array>
#include <optional>

#include "base/error.h"
#include "ir/ops/cast.h"

namespace tenon {
namespace {

/// The primitive that the expression applies to the operands as they come.
std::optional<Prim> plain_prim(const Expr& e) {
  const Expr::Node& n = e.node();
  if (n.kind != Expr::Kind::prim) return std::nullopt;
  for (std::size_t i = 0; i < n.args.size(); ++i) {
    const Expr::Node& arg = n.args[i].node();
    if (arg.kind != Expr::Kind::input || arg.input != static_cast<int>(i)) return std::nullopt;
  }
  return n.prim;
}

/// For each primitive the operator that is just that.
std::array<const OpInfo*, prim_count> operators_of_primitives() {
  std::array<const OpInfo*, prim_count> found{};
  for (const OpInfo* info : all_ops()) {
    if (info->op_kind != OpKind::pointwise || !info->fields.empty()) continue;
    if (const auto prim = plain_prim(expr_of(info->make()))) found[static_cast<std::size_t>(*prim)] = info;
  }
  return found;
}

Op operator_of(Prim p, DType to) {
  static const auto operators = operators_of_primitives();
  if (p == Prim::cast) return Cast{.to = to};
  const OpInfo* info = operators[static_cast<std::size_t>(p)];
  if (!info) throw InternalError(fmt::format("{} has no operator", name(p)));
  return info->make();
}

}  // namespace

Ref emit(const Expr& e, std::span<const Ref> operands) {
  TENON_CHECK(!operands.empty());
  std::vector<DType> dtypes;
  for (const Ref& r : operands) dtypes.push_back(r.dtype());
  std::vector<Ref> values;
  for (const ScalarStep& step : flatten(e, dtypes).steps) {
    if (step.kind == Expr::Kind::input) {
      values.push_back(operands[static_cast<std::size_t>(step.input)]);
    } else if (step.kind == Expr::Kind::constant) {
      values.push_back(operands[0].literal(step.number, step.type));
    } else {
      std::vector<Ref> args;
      for (const int a : step.args) args.push_back(values[static_cast<std::size_t>(a)]);
      values.push_back(tenon::apply(operator_of(step.prim, step.type), std::span<const Ref>(args)));
    }
  }
  return values.back();
}

}  // namespace tenon
