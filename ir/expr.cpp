#include "ir/expr.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/error.h"

namespace tenon {

Expr::Expr(double constant) : Expr(Node{.kind = Kind::constant, .number = constant, .args = {}}) {}
Expr Expr::input(int operand) { return Expr(Node{.kind = Kind::input, .input = operand, .args = {}}); }

Expr Expr::of(Prim prim, std::vector<Expr> args) {
  return Expr(Node{.kind = Kind::prim, .prim = prim, .args = std::move(args)});
}

Expr cast(DType to, const Expr& x) {
  return Expr(Expr::Node{.kind = Expr::Kind::prim, .prim = Prim::cast, .to = to, .args = {x}});
}

bool needs_real(const Expr& e) {
  const Expr::Node& n = e.node();
  if (n.kind != Expr::Kind::prim || n.prim == Prim::cast) return false;
  if (info(n.prim).kind == PrimKind::real) return true;
  return std::any_of(n.args.begin(), n.args.end(), needs_real);
}

namespace {

// Types flow up from the operands; constants get theirs from a sibling, or from above when all are constants.
class Flattener {
 public:
  explicit Flattener(std::span<const DType> operands) : operands_(operands) {}

  ScalarProgram run(const Expr& e) {
    visit(e, type_of(e).value_or(operands_.empty() ? DType::f32 : operands_[0]));
    return std::move(program_);
  }

 private:
  std::optional<DType> common(const Expr::Node& n, std::size_t first) {
    std::optional<DType> type;
    for (std::size_t i = first; i < n.args.size(); ++i) {
      const auto t = type_of(n.args[i]);
      if (t && type && *t != *type)
        throw error("{} takes operands of one dtype, not {} and {}", name(n.prim), name(*type), name(*t));
      if (t) type = t;
    }
    return type;
  }

  std::optional<DType> type_of(const Expr& e) {
    const Expr::Node& n = e.node();
    if (n.kind == Expr::Kind::constant) return std::nullopt;
    if (n.kind == Expr::Kind::input) return operands_[static_cast<std::size_t>(n.input)];
    const auto it = types_.find(&n);
    if (it != types_.end()) return it->second;
    std::optional<DType> type;
    switch (info(n.prim).kind) {
      case PrimKind::cast: type = n.to; break;
      case PrimKind::test:
        common(n, 0);
        type = DType::boolean;
        break;
      case PrimKind::select: type = common(n, 1); break;
      default: type = common(n, 0);
    }
    return types_[&n] = type;
  }

  int visit(const Expr& e, DType wanted) {
    const Expr::Node& n = e.node();
    if (n.kind == Expr::Kind::constant && is_string(wanted))
      throw error("the number {} stands where a string is needed", n.number);
    if (n.kind == Expr::Kind::constant)
      return push({.kind = n.kind, .type = wanted, .number = n.number, .args = {}});
    if (const auto it = steps_.find(&n); it != steps_.end()) return it->second;
    ScalarStep step{
        .kind = n.kind, .prim = n.prim, .type = type_of(e).value_or(wanted), .input = n.input, .args = {}};
    if (n.kind == Expr::Kind::prim) {
      const PrimKind kind = info(n.prim).kind;
      const DType operand =
          kind == PrimKind::test || kind == PrimKind::cast ? common(n, 0).value_or(wanted) : step.type;
      if (!takes_strings(n.prim) && (is_string(operand) || is_string(step.type)))
        throw error("{} takes numbers, not strings", name(n.prim));
      if (kind == PrimKind::real && !is_float(step.type))
        throw error("{} takes floats, not {}", name(n.prim), name(step.type));
      const auto condition = kind == PrimKind::select ? type_of(n.args[0]) : std::nullopt;
      if (condition && !is_bool(*condition))
        throw error("{} decides by a bool, not by {}", name(n.prim), name(*condition));
      if (kind == PrimKind::bits && is_float(step.type))
        throw error("{} takes integers, not {}", name(n.prim), name(step.type));
      for (std::size_t i = 0; i < n.args.size(); ++i)
        step.args.push_back(visit(n.args[i], kind == PrimKind::select && i == 0 ? DType::boolean : operand));
    }
    return steps_[&n] = push(std::move(step));
  }

  int push(ScalarStep step) {
    program_.steps.push_back(std::move(step));
    return static_cast<int>(program_.steps.size()) - 1;
  }

  std::span<const DType> operands_;
  std::unordered_map<const Expr::Node*, std::optional<DType>> types_;
  std::unordered_map<const Expr::Node*, int> steps_;
  ScalarProgram program_;
};

}  // namespace

ScalarProgram flatten(const Expr& e, std::span<const DType> operands) { return Flattener(operands).run(e); }

}  // namespace tenon
