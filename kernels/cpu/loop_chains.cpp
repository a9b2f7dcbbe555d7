// Recognises chains of float primitives that have a loop of their own.
#include <cmath>
#include <optional>

#include "kernels/cpu/loop_plan.h"

namespace tenon::cpu {
namespace {

class Chains {
 public:
  Chains(const LoopProgram& program, LoopMode mode)
      : program_(program), varies_(varies_over_row(program)), by_rows_(mode == LoopMode::rows) {
    const auto& instructions = program.code.instructions;
    uses_.resize(instructions.size(), 0);
    for (const Instruction& i : instructions)
      for (const Reg r : i.args)
        if (r >= 0) ++uses_[static_cast<std::size_t>(r)];
    // A difference whose squares are summed is computed there once more, and not read from a register.
    for (const Instruction& i : instructions)
      if (i.op == LoopOp::reduce && is_sum_of_squared_differences(i))
        uses_[index(at(i.args[0]).args[0])] -= 2;
  }

  /// The fused loop for instruction r, or nothing.
  std::optional<LoopNode> match(Reg r) const {
    const Instruction& root = at(r);
    if (root.op == LoopOp::reduce) return sum_squares(r);
    if (root.op != LoopOp::prim || root.type != DType::f32 || root.prim == Prim::cast) return std::nullopt;
    for (const auto rule : {&Chains::gelu, &Chains::silu, &Chains::relu, &Chains::exp_sub,
                            &Chains::mul_add_or_sub, &Chains::sub_mul, &Chains::constant_power}) {
      if (auto found = (this->*rule)(r)) return found;
    }
    return std::nullopt;
  }

 private:
  using Match = std::optional<LoopNode>;

  static std::size_t index(Reg r) { return static_cast<std::size_t>(r); }
  const Instruction& at(Reg r) const { return program_.code.instructions[index(r)]; }
  bool is(Reg r, Prim p) const {
    return at(r).op == LoopOp::prim && at(r).prim == p && at(r).type == DType::f32;
  }
  /// The same, and nobody else reads it.
  bool owns(Reg r, Prim p) const { return is(r, p) && uses_[static_cast<std::size_t>(r)] == 1; }
  bool is_constant(Reg r, double value) const {
    return at(r).op == LoopOp::constant && std::fabs(at(r).value - value) <= 1e-6 * std::fabs(value);
  }
  static Match fused(Fused f, Reg a, Reg b = -1, Reg c = -1) {
    LoopNode node;
    node.instruction = {.op = LoopOp::prim, .type = DType::f32, .args = {a, b, c}};
    node.fused = static_cast<int>(f);
    node.arg_count = c >= 0 ? 3 : b >= 0 ? 2 : 1;
    return node;
  }

  /// More than three are not told apart.
  void factors(Reg r, bool root, std::vector<Reg>& out, int depth = 0) const {
    if (depth < 3 && (root ? is(r, Prim::mul) : owns(r, Prim::mul))) {
      factors(at(r).args[0], false, out, depth + 1);
      factors(at(r).args[1], false, out, depth + 1);
    } else {
      out.push_back(r);
    }
  }
  bool is_scaled(Reg r, Reg x, double scale) const {
    const auto& args = at(r).args;
    if (is(r, Prim::mul))
      return (args[0] == x && is_constant(args[1], scale)) || (args[1] == x && is_constant(args[0], scale));
    return is(r, Prim::div) && args[0] == x && is_constant(args[1], 1 / scale);
  }
  bool is_one_plus_erf(Reg r, Reg x) const {
    if (!owns(r, Prim::add)) return false;
    const Reg a = at(r).args[0];
    const Reg b = at(r).args[1];
    const Reg e = is_constant(a, 1) ? b : a;
    return is_constant(e == b ? a : b, 1) && owns(e, Prim::erf) &&
           is_scaled(at(e).args[0], x, std::sqrt(0.5));
  }

  Match gelu(Reg r) const {  // x * 0.5 * (1 + erf(x / sqrt 2)), the factors in any order
    std::vector<Reg> f;
    if (is(r, Prim::mul)) factors(r, true, f);
    if (f.size() != 3) return std::nullopt;
    for (int half = 0; half < 3; ++half) {
      const Reg a = f[static_cast<std::size_t>((half + 1) % 3)];
      const Reg b = f[static_cast<std::size_t>((half + 2) % 3)];
      if (!is_constant(f[static_cast<std::size_t>(half)], 0.5)) continue;
      if (!is_one_plus_erf(b, a) && !is_one_plus_erf(a, b)) continue;
      const Reg x = is_one_plus_erf(b, a) ? a : b;
      if (is(x, Prim::add) && uses_[index(x)] == 2)
        return fused(Fused::add_gelu, at(x).args[0], at(x).args[1]);
      return fused(Fused::gelu, x);
    }
    return std::nullopt;
  }
  Match silu_mul(Reg r) const {  // x * sigmoid(x) * y, the factors in any order
    std::vector<Reg> f;
    if (is(r, Prim::mul)) factors(r, true, f);
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
  Match silu(Reg r) const {  // x * sigmoid(x)
    if (!is(r, Prim::mul)) return std::nullopt;
    const Reg a = at(r).args[0];
    const Reg b = at(r).args[1];
    if (owns(b, Prim::sigmoid) && at(b).args[0] == a) return fused(Fused::silu, a);
    if (owns(a, Prim::sigmoid) && at(a).args[0] == b) return fused(Fused::silu, b);
    return std::nullopt;
  }
  Match relu(Reg r) const {  // max(a, 0), max(a + b, 0)
    if (!is(r, Prim::max)) return std::nullopt;
    const bool zero_first = at(at(r).args[0]).op == LoopOp::constant && at(at(r).args[0]).value == 0;
    const Reg zero = at(r).args[zero_first ? 0 : 1];
    const Reg a = at(r).args[zero_first ? 1 : 0];
    if (at(zero).op != LoopOp::constant || at(zero).value != 0) return std::nullopt;
    if (owns(a, Prim::add)) return fused(Fused::add_relu, at(a).args[0], at(a).args[1]);
    return fused(Fused::relu, a);
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
  Match mul_add_or_sub(Reg r) const {  // a * b + c, c + a * b, a * b - c
    if (!is(r, Prim::add) && !is(r, Prim::sub)) return std::nullopt;
    const Reg left = at(r).args[0];
    const Reg right = at(r).args[1];
    const Fused f = is(r, Prim::add) ? Fused::mul_add : Fused::mul_sub;
    if (owns(left, Prim::mul)) return fused(f, at(left).args[0], at(left).args[1], right);
    if (f == Fused::mul_add && owns(right, Prim::mul))
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

  const LoopProgram& program_;
  std::vector<bool> varies_;
  bool by_rows_;
  std::vector<int> uses_;
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
