// Recognises chains of primitives that have a loop of their own.
#include <algorithm>
#include <optional>

#include "kernels/cpu/loop_patterns.h"
#include "kernels/cpu/loop_plan.h"

namespace tenon::cpu {
namespace {

class Chains : LoopPatterns {
 public:
  Chains(const LoopProgram& program, LoopMode mode)
      : LoopPatterns(program),
        varies_(varies_over_row(program)),
        by_rows_(mode == LoopMode::rows),
        rounds_(std::ranges::any_of(program.code.instructions,
                                    [&](const Instruction& i) { return is_rounding(program, i); })) {
    for (Reg r = 0; r < static_cast<Reg>(program.code.instructions.size()); ++r) {
      widths_.push_back(width_of(r));
      varies_everywhere_.push_back(varies_everywhere(r));
    }
    // A difference whose squares are summed is computed there once more, and not read from a register.
    for (const Instruction& i : program.code.instructions)
      if (i.op == LoopOp::reduce && is_sum_of_squared_differences(i))
        uses_[index(at(i.args[0]).args[0])] -= 2;
  }

  /// The fused loop for instruction r, or nothing.
  std::optional<LoopNode> match(Reg r) const {
    const Instruction& root = at(r);
    if (root.op == LoopOp::reduce) return sum_squares(r);
    if (root.op != LoopOp::prim || root.prim == Prim::cast) return std::nullopt;
    const auto first_of = [&](auto... rules) -> std::optional<LoopNode> {
      std::optional<LoopNode> found;
      ((found = (this->*rules)(r)) || ...);
      if (found) found->instruction.type = root.type;
      return found;
    };
    if (root.type == DType::f32)
      return first_of(&Chains::silu_mul, &Chains::activation_loop, &Chains::leaky_relu, &Chains::huber,
                      &Chains::huber_min, &Chains::clamp_number, &Chains::select_by_abs,
                      &Chains::select_by_test, &Chains::sub_clamp, &Chains::exp_sub, &Chains::normalize,
                      &Chains::sub_mul_add, &Chains::mul_add_or_sub, &Chains::sub_mul, &Chains::div_add,
                      &Chains::abs_sub, &Chains::cube, &Chains::mul_mul, &Chains::constant_power,
                      &Chains::clamp);
    if (root.type == DType::f64)
      return first_of(&Chains::ramp_loop, &Chains::leaky_relu, &Chains::huber, &Chains::huber_min,
                      &Chains::clamp_number, &Chains::select_by_abs, &Chains::select_by_test,
                      &Chains::sub_clamp, &Chains::normalize, &Chains::sub_mul_add, &Chains::mul_add_or_sub,
                      &Chains::sub_mul, &Chains::div_add, &Chains::abs_sub, &Chains::cube, &Chains::mul_mul,
                      &Chains::clamp);
    if (is_integral(root.type) && is_test_as_wide_as_values(r)) return select_by_test(r);
    return clamp(r);
  }

 private:
  using Match = std::optional<LoopNode>;

  static std::size_t index(Reg r) { return static_cast<std::size_t>(r); }
  /// To an integer, of either kind of type.
  static bool is_rounding(const LoopProgram& program, const Instruction& i) {
    if (i.op != LoopOp::prim) return false;
    if (i.prim == Prim::cast) return !is_float(i.type) && is_float(program.type_of(i.args[0]));
    return i.prim == Prim::round || i.prim == Prim::floor || i.prim == Prim::ceil || i.prim == Prim::trunc;
  }
  static Match fused(Fused f, Reg a, Reg b = -1, Reg c = -1) {
    LoopNode node;
    node.instruction = {.op = LoopOp::prim, .type = DType::f32, .args = {a, b, c}};
    node.fused = static_cast<int>(f);
    node.arg_count = c >= 0 ? 3 : b >= 0 ? 2 : 1;
    return node;
  }

  Match activation_loop(Reg r) const {
    const auto found = activation(r);
    if (!found) return std::nullopt;
    using enum Activation::Kind;
    const Reg x = found->of;
    switch (found->function.kind) {
      case relu:
        if (owns(x, Prim::add)) {
          if (const Match sum = mul_add_or_sub(x))
            return fused(Fused::mul_add_relu, sum->instruction.args[0], sum->instruction.args[1],
                         sum->instruction.args[2]);
          return fused(Fused::add_relu, at(x).args[0], at(x).args[1]);
        }
        return fused(Fused::relu, x);
      case gelu:
        if (is(x, Prim::add) && uses(x) == 2) return fused(Fused::add_gelu, at(x).args[0], at(x).args[1]);
        return fused(Fused::gelu, x);
      case gelu_tanh: return fused(Fused::gelu_tanh, x);
      case silu: return fused(Fused::silu, x);
      case hardswish: return fused(Fused::hardswish, x);
      case hardsigmoid: return fused(Fused::hardsigmoid, x);
      default: return std::nullopt;
    }
  }
  /// Those of them that f64 has, too.
  Match ramp_loop(Reg r) const {
    const auto found = activation(r);
    if (!found) return std::nullopt;
    switch (found->function.kind) {
      case Activation::Kind::relu: return fused(Fused::relu, found->of);
      case Activation::Kind::hardswish: return fused(Fused::hardswish, found->of);
      case Activation::Kind::hardsigmoid: return fused(Fused::hardsigmoid, found->of);
      default: return std::nullopt;
    }
  }
  Match leaky_relu(Reg r) const {
    const auto found = sloped_below_zero(r);
    return found ? fused(Fused::leaky_relu, found->x, found->slope) : std::nullopt;
  }
  Match select_by_test(Reg r) const {  // select(a < b, c, d), of values of one type
    if (!is_select(r)) return std::nullopt;
    const auto& [condition, yes, no] = at(r).args;
    const Instruction& test = at(condition);
    if (test.op != LoopOp::prim || program_.type_of(test.args[0]) != at(r).type) return std::nullopt;
    const Reg a = test.args[0], b = test.args[1];
    const auto select = [](Fused f, Reg x, Reg y, Reg c, Reg d) -> Match {
      return with_fourth(*fused(f, x, y, c), d);
    };
    switch (test.prim) {
      case Prim::lt: return select(Fused::select_lt, a, b, yes, no);
      case Prim::gt: return select(Fused::select_lt, b, a, yes, no);
      case Prim::le: return select(Fused::select_le, a, b, yes, no);
      case Prim::ge: return select(Fused::select_le, b, a, yes, no);
      case Prim::eq: return select(Fused::select_eq, a, b, yes, no);
      case Prim::ne: return select(Fused::select_eq, a, b, no, yes);
      case Prim::isnan: return select(Fused::select_eq, a, a, no, yes);
      default: return std::nullopt;
    }
  }
  /// Bytes of the widest integers in memory that r is made of; 0: of none.
  std::size_t width_of(Reg r) const {
    const Instruction& i = at(r);
    if (i.op == LoopOp::load || i.op == LoopOp::gather)
      return size_of(program_.code.operands[index(i.operand)].dtype);
    std::size_t width = i.op == LoopOp::reduce ? sizeof(std::int64_t) : 0;
    if (i.op == LoopOp::prim)
      for (int a = 0; a < arg_count(i); ++a) width = std::max(width, widths_[index(i.args[index(a)])]);
    return width;
  }
  /// Is r a select by a test of integers that need no other width than the values?
  bool is_test_as_wide_as_values(Reg r) const {
    if (!is_select(r)) return false;
    const Instruction& root = at(r);
    const std::size_t tested = widths_[index(root.args[0])];
    const std::size_t values = std::max(widths_[index(root.args[1])], widths_[index(root.args[2])]);
    return tested == values || values == 0;
  }
  bool is_select(Reg r) const { return at(r).op == LoopOp::prim && at(r).prim == Prim::select; }
  bool tests(Reg r, Prim p) const { return at(r).op == LoopOp::prim && at(r).prim == p && uses(r) == 1; }
  Match huber(Reg r) const {  // x * x * d where x < c (or <=), else x - e, of x = |a - b|
    if (!is(r, Prim::select)) return std::nullopt;
    const auto& [condition, square, line] = at(r).args;
    const bool strict = tests(condition, Prim::lt);
    if ((!strict && !tests(condition, Prim::le)) || !owns(square, Prim::mul) || !owns(line, Prim::sub))
      return std::nullopt;
    const Reg x = at(condition).args[0];
    Match node = uses(x) == 4 ? abs_sub(x) : std::nullopt;
    if (!node || at(line).args[0] != x) return std::nullopt;
    for (const std::size_t i : {0, 1}) {
      const Reg product = at(square).args[i];
      if (!owns(product, Prim::mul) || at(product).args[0] != x || at(product).args[1] != x) continue;
      node->fused = static_cast<int>(strict ? Fused::huber_lt : Fused::huber_le);
      node->instruction.args[2] = at(condition).args[1];
      node->more = {at(square).args[1 - i], at(line).args[1]};
      node->arg_count = 5;
      return node;
    }
    return std::nullopt;
  }
  Match huber_min(Reg r) const {  // m * (x - m * d), m = min(x, c), of x = |a - b|
    if (!is(r, Prim::mul)) return std::nullopt;
    for (const std::size_t i : {0, 1}) {
      const Reg least = at(r).args[i], rest = at(r).args[1 - i];
      if (!is(least, Prim::min) || uses(least) != 2 || !owns(rest, Prim::sub)) continue;
      const auto& [x, c, none] = at(least).args;
      const Reg share = at(rest).args[1];
      Match node = uses(x) == 2 ? abs_sub(x) : std::nullopt;
      if (!node || at(rest).args[0] != x || !owns(share, Prim::mul)) continue;
      for (const std::size_t j : {0, 1}) {
        if (at(share).args[j] != least) continue;
        node->fused = static_cast<int>(Fused::huber_min);
        node->instruction.args[2] = c;
        return with_fourth(*node, at(share).args[1 - j]);
      }
    }
    return std::nullopt;
  }
  Match clamp_number(Reg r) const {  // select(isnan(a), d, min(max(a, b), c))
    if (!is(r, Prim::select)) return std::nullopt;
    const auto& [condition, other, clamped] = at(r).args;
    if (!tests(condition, Prim::isnan) || !owns(clamped, Prim::min)) return std::nullopt;
    Match node = clamp(clamped);
    if (!node || node->instruction.args[0] != at(condition).args[0]) return std::nullopt;
    node->fused = static_cast<int>(Fused::clamp_number);
    return with_fourth(*node, other);
  }
  Match sub_clamp(Reg r) const {  // a - min(max(a, b), c)
    if (!is(r, Prim::sub) || !owns(at(r).args[1], Prim::min)) return std::nullopt;
    Match node = clamp(at(r).args[1]);
    if (!node || node->instruction.args[0] != at(r).args[0]) return std::nullopt;
    node->fused = static_cast<int>(Fused::sub_clamp);
    return node;
  }
  Match select_by_abs(Reg r) const {  // select(|a| <= b, c, d)
    if (!is(r, Prim::select)) return std::nullopt;
    const auto& [condition, yes, no] = at(r).args;
    if (!tests(condition, Prim::le) || !owns(at(condition).args[0], Prim::abs)) return std::nullopt;
    const Reg a = at(at(condition).args[0]).args[0];
    return with_fourth(*fused(Fused::select_abs, a, at(condition).args[1], yes), no);
  }
  Match silu_mul(Reg r) const {  // x * sigmoid(x) * y, the factors in any order
    const std::vector<Reg> f = factors(r);
    if (f.size() != 3) return std::nullopt;
    for (std::size_t s = 0; s < 3; ++s) {
      const Reg a = f[(s + 1) % 3];
      const Reg b = f[(s + 2) % 3];
      if (!owns(f[s], Prim::sigmoid)) continue;
      if (at(f[s]).args[0] == a) return fused(Fused::silu_mul, a, b);
      if (at(f[s]).args[0] == b) return fused(Fused::silu_mul, b, a);
    }
    return std::nullopt;
  }
  Match exp_sub(Reg r) const {
    if (!is(r, Prim::exp) || !owns(at(r).args[0], Prim::sub)) return std::nullopt;
    const Instruction& difference = at(at(r).args[0]);
    const Fused f =
        is_reduce(difference.args[1], Reduce::max, difference.args[0]) ? Fused::exp_below : Fused::exp_sub;
    return fused(f, difference.args[0], difference.args[1]);
  }
  bool is_reduce(Reg r, Reduce kind, Reg of) const {
    return at(r).op == LoopOp::reduce && at(r).reduce == kind && at(r).args[0] == of;
  }
  // A product that is part of no activation, which has a loop of its own.
  bool owns_product(Reg r) const { return owns(r, Prim::mul) && !activation(r); }
  // Sums whose product is not rounded (fma), but for integers that are made of them: the sum of two codes
  // with their scales often lies in the middle of two others, and would fall to the other side.
  Match mul_add_or_sub(Reg r) const {  // a * b + c, c + a * b, a * b - c
    if (rounds_ || (!is(r, Prim::add) && !is(r, Prim::sub))) return std::nullopt;
    const Reg left = at(r).args[0];
    const Reg right = at(r).args[1];
    const Fused f = is(r, Prim::add) ? Fused::mul_add : Fused::mul_sub;
    if (owns_product(left)) return fused(f, at(left).args[0], at(left).args[1], right);
    if (f == Fused::mul_add && owns_product(right))
      return fused(f, at(right).args[0], at(right).args[1], left);
    return std::nullopt;
  }
  Match sub_mul(Reg r) const {  // (a - b) * c
    if (!is(r, Prim::mul)) return std::nullopt;
    const Reg left = at(r).args[0];
    const Reg right = at(r).args[1];
    if (owns(left, Prim::sub)) return fused(Fused::sub_mul, at(left).args[0], at(left).args[1], right);
    if (owns(right, Prim::sub)) return fused(Fused::sub_mul, at(right).args[0], at(right).args[1], left);
    return std::nullopt;
  }

  Match sub_mul_add(Reg r) const {  // (a - b) * c + d
    if (rounds_ || !is(r, Prim::add)) return std::nullopt;
    for (const std::size_t i : {0, 1}) {
      const Reg product = at(r).args[i];
      Match node = owns_product(product) ? sub_mul(product) : std::nullopt;
      if (!node) continue;
      node->fused = static_cast<int>(Fused::sub_mul_add);
      return with_fourth(*node, at(r).args[1 - i]);
    }
    return std::nullopt;
  }
  Match normalize(Reg r) const {  // (a - b) * c * d + e
    if (rounds_ || !is(r, Prim::add)) return std::nullopt;
    for (const std::size_t i : {0, 1})
      for (const std::size_t j : {0, 1}) {
        const Reg scaled = at(r).args[i];
        if (!owns_product(scaled)) continue;
        const Reg product = at(scaled).args[j];
        Match node = owns_product(product) ? sub_mul(product) : std::nullopt;
        if (!node) continue;
        node->fused = static_cast<int>(Fused::normalize);
        node->more = {at(scaled).args[1 - j], at(r).args[1 - i]};
        node->arg_count = 5;
        return node;
      }
    return std::nullopt;
  }
  Match mul_mul(Reg r) const {  // a * b * c
    if (!is(r, Prim::mul)) return std::nullopt;
    for (const std::size_t i : {0, 1}) {
      const Reg product = at(r).args[i];
      if (owns_product(product))
        return fused(Fused::mul_mul, at(product).args[0], at(product).args[1], at(r).args[1 - i]);
    }
    return std::nullopt;
  }
  Match div_add(Reg r) const {  // a / b + c; a quotient of one value a row, or a column, is computed once
    if (!is(r, Prim::add)) return std::nullopt;
    for (const std::size_t i : {0, 1}) {
      const Reg quotient = at(r).args[i];
      if (owns(quotient, Prim::div) && !activation(quotient) && varies_everywhere_[index(quotient)])
        return fused(Fused::div_add, at(quotient).args[0], at(quotient).args[1], at(r).args[1 - i]);
    }
    return std::nullopt;
  }
  /// Is it made of an operand that lies along every dim?
  bool varies_everywhere(Reg r) const {
    const Instruction& i = at(r);
    if (i.op == LoopOp::load) {
      const auto& strides = program_.shape.operands[index(i.operand)].strides;
      for (std::size_t d = 0; d < strides.size(); ++d)
        if (strides[d] == 0 && program_.shape.dims[d] != 1) return false;
      return true;
    }
    for (int a = 0; i.op == LoopOp::prim && a < arg_count(i); ++a)
      if (varies_everywhere_[index(i.args[index(a)])]) return true;
    return false;
  }
  Match abs_sub(Reg r) const {  // |a - b|
    if (!is(r, Prim::abs) || !owns(at(r).args[0], Prim::sub)) return std::nullopt;
    const Instruction& difference = at(at(r).args[0]);
    return fused(Fused::abs_sub, difference.args[0], difference.args[1]);
  }
  static LoopNode with_fourth(LoopNode node, Reg fourth) {
    node.more[0] = fourth;
    node.arg_count = 4;
    return node;
  }

  Match clamp(Reg r) const {  // min(max(a, b), c)
    if (at(r).prim != Prim::min) return std::nullopt;
    for (const std::size_t i : {0, 1}) {
      const Reg raised = at(r).args[i];
      if (at(raised).op != LoopOp::prim || at(raised).prim != Prim::max || uses(raised) != 1) continue;
      Match node = fused(Fused::clamp, at(raised).args[0], at(raised).args[1], at(r).args[1 - i]);
      node->instruction.type = at(r).type;
      return node;
    }
    return std::nullopt;
  }

  Match cube(Reg r) const {  // a * a * a
    const std::vector<Reg> f = factors(r);
    return f.size() == 3 && f[0] == f[1] && f[1] == f[2] ? fused(Fused::cube, f[0]) : std::nullopt;
  }
  Match constant_power(Reg r) const {  // the exponents that PyTorch treats specially, too
    if (!is(r, Prim::pow) || at(at(r).args[1]).op != LoopOp::constant) return std::nullopt;
    const Reg x = at(r).args[0];
    const double exponent = at(at(r).args[1]).value;
    if (exponent == 3) return fused(Fused::cube, x);
    if (exponent == 2) return plain(Prim::mul, {x, x, -1});
    if (exponent == 0.5) return plain(Prim::sqrt, {x, -1, -1});
    if (exponent == -0.5) return plain(Prim::rsqrt, {x, -1, -1});
    if (exponent == -1) return plain(Prim::recip, {x, -1, -1});
    return std::nullopt;
  }
  static Match plain(Prim p, std::array<Reg, 3> args) {
    LoopNode node;
    node.instruction = {.op = LoopOp::prim, .type = DType::f32, .prim = p, .args = args};
    node.arg_count = arity(p);
    return node;
  }

  /// sum(d * d) with d = x - m, where m is one value a row and x is not, and a walk along rows.
  bool is_sum_of_squared_differences(const Instruction& i) const {
    const Reg square = i.args[0];
    if (!by_rows_ || i.reduce != Reduce::sum || !owns(square, Prim::mul)) return false;
    const Reg d = at(square).args[0];
    return d == at(square).args[1] && is(d, Prim::sub) && varies_[index(at(d).args[0])] &&
           !varies_[index(at(d).args[1])];
  }
  Match sum_squares(Reg r) const {  // sum(a * a), sum((a - b) * (a - b))
    const Reg square = at(r).args[0];
    if (at(r).reduce != Reduce::sum || !is(square, Prim::mul) || at(square).args[0] != at(square).args[1])
      return std::nullopt;
    const Reg base = at(square).args[0];
    LoopNode node;
    node.instruction = at(r);
    node.squares = true;
    node.arg_count = is_sum_of_squared_differences(at(r)) ? 2 : 1;
    node.instruction.args = node.arg_count == 2 ? at(base).args : std::array{base, -1, -1};
    return node;
  }

  std::vector<std::size_t> widths_;
  std::vector<bool> varies_, varies_everywhere_;
  bool by_rows_;
  bool rounds_;
};

// The CPU compiles for the sizes too.
Instruction count_of(const LoopProgram& program, DType type) {
  const std::int64_t length = program.row_length();
  return {.op = LoopOp::constant, .type = type, .value = static_cast<double>(length), .integer = length};
}

}  // namespace

std::vector<LoopNode> recognise_chains(const LoopProgram& program, LoopMode mode) {
  const Chains chains(program, mode);
  std::vector<LoopNode> nodes;
  for (Reg r = 0; r < static_cast<Reg>(program.code.instructions.size()); ++r) {
    const Instruction& i = program.code.instructions[static_cast<std::size_t>(r)];
    LoopNode plain;
    plain.instruction = i;
    if (i.op == LoopOp::count) plain.instruction = count_of(program, i.type);
    plain.arg_count = arg_count(i);
    nodes.push_back(chains.match(r).value_or(plain));
  }
  return nodes;
}

}  // namespace tenon::cpu
