// The functions' spellings.
#include "kernels/cpu/loop_patterns.h"

#include <algorithm>
#include <cmath>

namespace tenon::cpu {

using Kind = Activation::Kind;
constexpr float infinity = std::numeric_limits<float>::infinity();

LoopPatterns::LoopPatterns(const LoopProgram& program) : program_(program) {
  uses_.resize(program.code.instructions.size(), 0);
  for (const Instruction& i : program.code.instructions)
    for (const Reg r : i.args)
      if (r >= 0) ++uses_[static_cast<std::size_t>(r)];
}

std::optional<LoopPatterns::Found> LoopPatterns::activation(Reg r) const {
  for (const auto rule :
       {&LoopPatterns::gelu, &LoopPatterns::silu, &LoopPatterns::hardswish, &LoopPatterns::hardsigmoid,
        &LoopPatterns::clamp, &LoopPatterns::leaky_relu, &LoopPatterns::one_primitive}) {
    if (const auto found = (this->*rule)(r)) return found;
  }
  return std::nullopt;
}

bool LoopPatterns::is_constant(Reg r, double value) const {
  return is_constant(r) && std::fabs(at(r).value - value) <= 1e-6 * std::fabs(value);
}

Reg LoopPatterns::beside(Reg r, Reg one) const {
  const auto& args = at(r).args;
  return args[0] == one ? args[1] : args[1] == one ? args[0] : -1;
}

std::optional<LoopPatterns::WithConstant> LoopPatterns::with_constant(Reg r, Prim p) const {
  if (!is(r, p)) return std::nullopt;
  const auto& args = at(r).args;
  for (const int c : {1, 0})
    if (is_constant(args[static_cast<std::size_t>(c)]) && !is_constant(args[static_cast<std::size_t>(1 - c)]))
      return WithConstant{at(args[static_cast<std::size_t>(c)]).value, args[static_cast<std::size_t>(1 - c)]};
  return std::nullopt;
}

std::vector<Reg> LoopPatterns::factors(Reg product) const {
  std::vector<Reg> found;
  if (is(product, Prim::mul)) add_factors(product, true, found, 0);
  return found;
}
void LoopPatterns::add_factors(Reg r, bool root, std::vector<Reg>& out, int depth) const {
  if (depth < 3 && (root ? is(r, Prim::mul) : owns(r, Prim::mul))) {
    add_factors(at(r).args[0], false, out, depth + 1);
    add_factors(at(r).args[1], false, out, depth + 1);
  } else {
    out.push_back(r);
  }
}

bool LoopPatterns::is_scaled(Reg r, Reg x, double scale) const {
  const auto& args = at(r).args;
  if (is(r, Prim::mul)) return beside(r, x) >= 0 && is_constant(beside(r, x), scale);
  return is(r, Prim::div) && args[0] == x && is_constant(args[1], 1 / scale);
}

// 1 + function(argument)
bool LoopPatterns::is_one_plus(Reg r, Prim function, const auto& of_argument) const {
  if (!owns(r, Prim::add)) return false;
  const auto sum = with_constant(r, Prim::add);
  return sum && std::fabs(sum->constant - 1) <= 1e-6 && owns(sum->of, function) &&
         of_argument(at(sum->of).args[0]);
}

bool LoopPatterns::is_cube(Reg r, Reg x) const {
  if (is(r, Prim::pow)) return at(r).args[0] == x && is_constant(at(r).args[1], 3);
  const std::vector<Reg> f = factors(r);
  return f.size() == 3 && std::all_of(f.begin(), f.end(), [&](Reg one) { return one == x; });
}

// sqrt(2 / pi) * (x + 0.044715 * x^3)
bool LoopPatterns::is_tanh_argument(Reg r, Reg x) const {
  const auto scaled = with_constant(r, Prim::mul);
  if (!scaled || std::fabs(scaled->constant - 0.79788456) > 1e-6 || !is(scaled->of, Prim::add)) return false;
  const Reg cubed = beside(scaled->of, x);
  if (cubed < 0 || !is(cubed, Prim::mul)) return false;
  const auto term = with_constant(cubed, Prim::mul);
  return term && std::fabs(term->constant - 0.044715) <= 1e-7 && is_cube(term->of, x);
}

// x * 0.5 * (1 + erf(x / sqrt 2)), the factors in any order, and the same with tanh.
LoopPatterns::Match LoopPatterns::gelu(Reg r) const {
  const std::vector<Reg> f = factors(r);
  if (f.size() != 3) return std::nullopt;
  for (std::size_t half = 0; half < 3; ++half) {
    if (!is_constant(f[half], 0.5)) continue;
    for (const std::size_t i : {(half + 1) % 3, (half + 2) % 3}) {
      const Reg x = f[i], sum = f[3 - half - i];
      if (is_one_plus(sum, Prim::erf, [&](Reg a) { return is_scaled(a, x, std::sqrt(0.5)); }))
        return Found{{Kind::gelu}, x};
      if (is_one_plus(sum, Prim::tanh, [&](Reg a) { return is_tanh_argument(a, x); }))
        return Found{{Kind::gelu_tanh}, x};
    }
  }
  return std::nullopt;
}

LoopPatterns::Match LoopPatterns::silu(Reg r) const {  // x * sigmoid(x)
  if (!is(r, Prim::mul)) return std::nullopt;
  for (const Reg gate : {at(r).args[0], at(r).args[1]})
    if (owns(gate, Prim::sigmoid) && at(gate).args[0] == beside(r, gate))
      return Found{{Kind::silu}, at(gate).args[0]};
  return std::nullopt;
}

Reg LoopPatterns::ramp(Reg r) const {
  const auto bounded = clamp(r);
  if (!bounded || bounded->function != Activation{Kind::clamp, 0, 6} || uses(bounded->of) != 1) return -1;
  const auto shifted = with_constant(bounded->of, Prim::add);
  return shifted && shifted->constant == 3 ? shifted->of : -1;
}

LoopPatterns::Match LoopPatterns::hardsigmoid(Reg r) const {
  const bool divides = is(r, Prim::div) && is_constant(at(r).args[1], 6);
  if (!divides || uses(at(r).args[0]) != 1) return std::nullopt;
  const Reg x = ramp(at(r).args[0]);
  if (x < 0) return std::nullopt;
  return Found{{Kind::hardsigmoid}, x};
}

LoopPatterns::Match LoopPatterns::hardswish(Reg r) const {  // x * ramp / 6
  if (!is(r, Prim::div) || !is_constant(at(r).args[1], 6) || !owns(at(r).args[0], Prim::mul))
    return std::nullopt;
  const Reg product = at(r).args[0];
  for (const Reg gate : {at(product).args[0], at(product).args[1]})
    if (uses(gate) == 1 && ramp(gate) == beside(product, gate)) return Found{{Kind::hardswish}, ramp(gate)};
  return std::nullopt;
}

// max(x, low), min(x, high) and both in any order. A bound of NaN is none, nor is an upper one of zero, whose
// sign primitives may change.
LoopPatterns::Match LoopPatterns::clamp(Reg r) const {
  Activation a{Kind::clamp};
  const auto take = [&](Reg from) -> Reg {
    if (const auto upper = with_constant(from, Prim::min)) {
      if (a.high == infinity && upper->constant == upper->constant && upper->constant != 0) {
        a.high = static_cast<float>(upper->constant);
        return upper->of;
      }
    } else if (const auto lower = with_constant(from, Prim::max)) {
      if (a.low == -infinity && lower->constant == lower->constant) {
        a.low = static_cast<float>(lower->constant);
        return lower->of;
      }
    }
    return -1;
  };
  Reg x = take(r);
  if (x < 0) return std::nullopt;
  const bool minimum_last = is(r, Prim::min);
  if (uses(x) == 1) {
    const Activation outer = a;
    const Reg inner = take(x);
    if (inner >= 0 && (minimum_last || a.low <= a.high)) {
      x = inner;
    } else {
      a = outer;
    }
  }
  if (a.low == 0 && a.high == infinity) return Found{Activation::relu, x};
  return Found{a, x};
}

std::optional<LoopPatterns::Slope> LoopPatterns::sloped_below_zero(Reg r) const {
  if (!is(r, Prim::select)) return std::nullopt;
  const auto& [condition, x, scaled] = at(r).args;
  const Instruction& test = at(condition);
  const bool positive = test.op == LoopOp::prim && test.prim == Prim::gt && test.args[0] == x &&
                        is_constant(test.args[1], 0) && uses(condition) == 1;
  if (!positive || !owns(scaled, Prim::mul)) return std::nullopt;
  const Reg slope = beside(scaled, x);
  return slope < 0 ? std::nullopt : std::optional(Slope{x, slope});
}

LoopPatterns::Match LoopPatterns::leaky_relu(Reg r) const {
  const auto found = sloped_below_zero(r);
  if (!found || !is_constant(found->slope)) return std::nullopt;
  return Found{{Kind::leaky_relu, static_cast<float>(at(found->slope).value)}, found->x};
}

LoopPatterns::Match LoopPatterns::one_primitive(Reg r) const {
  if (is(r, Prim::sigmoid)) return Found{{Kind::sigmoid}, at(r).args[0]};
  if (is(r, Prim::tanh)) return Found{{Kind::tanh}, at(r).args[0]};
  return std::nullopt;
}

}  // namespace tenon::cpu
