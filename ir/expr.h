// The meaning of a pointwise operator: a tree of scalar primitives over its operands.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/scalar.h"

namespace tenon {

/// Immutable; copies share the tree. Written with ordinary operators: select(x > 0, x, x * slope).
/// A constant takes the type of the operand it meets.
class Expr {
 public:
  enum class Kind : std::uint8_t { input, constant, prim };
  struct Node {
    Kind kind;
    Prim prim{};             // kind prim
    DType to{};              // Prim::cast: the target
    int input = 0;           // kind input: operand number
    double number = 0;       // kind constant
    std::vector<Expr> args;  // kind prim
  };

  Expr(double constant);
  Expr(int constant) : Expr(static_cast<double>(constant)) {}
  static Expr input(int operand);
  static Expr of(Prim, std::vector<Expr> args);

  const Node& node() const { return *node_; }
  bool is_constant(double value) const { return node_->kind == Kind::constant && node_->number == value; }

 private:
  explicit Expr(Node node) : node_(std::make_shared<const Node>(std::move(node))) {}
  friend Expr cast(DType, const Expr&);
  std::shared_ptr<const Node> node_;
};

/// Converts to a dtype as storing and loading it would.
Expr cast(DType to, const Expr& x);

#define TENON_UNARY(fn, primitive) \
  inline Expr fn(const Expr& x) { return Expr::of(Prim::primitive, {x}); }
#define TENON_BINARY(fn, primitive) \
  inline Expr fn(const Expr& a, const Expr& b) { return Expr::of(Prim::primitive, {a, b}); }
TENON_BINARY(operator+, add)
TENON_BINARY(operator-, sub)
TENON_BINARY(operator*, mul)
TENON_BINARY(operator/, div)
TENON_BINARY(operator<, lt)
TENON_BINARY(operator<=, le)
TENON_BINARY(operator>, gt)
TENON_BINARY(operator>=, ge)
TENON_BINARY(operator==, eq)
TENON_BINARY(operator!=, ne)
TENON_BINARY(operator&&, logical_and)
TENON_BINARY(operator||, logical_or)
TENON_UNARY(operator-, neg)
TENON_UNARY(operator!, logical_not)
TENON_BINARY(floor_div, floor_div)
TENON_BINARY(trunc_div, trunc_div)
TENON_BINARY(remainder, remainder)
TENON_BINARY(fmod, fmod)
TENON_UNARY(abs, abs)
TENON_UNARY(sign, sign)
TENON_BINARY(min, min)
TENON_BINARY(max, max)
TENON_BINARY(fmin, fmin)
TENON_BINARY(fmax, fmax)
TENON_BINARY(pow, pow)
TENON_UNARY(floor, floor)
TENON_UNARY(ceil, ceil)
TENON_UNARY(trunc, trunc)
TENON_UNARY(round, round)
TENON_UNARY(recip, recip)
TENON_UNARY(sqrt, sqrt)
TENON_UNARY(rsqrt, rsqrt)
TENON_UNARY(exp, exp)
TENON_UNARY(exp2, exp2)
TENON_UNARY(expm1, expm1)
TENON_UNARY(log, log)
TENON_UNARY(log2, log2)
TENON_UNARY(log10, log10)
TENON_UNARY(log1p, log1p)
TENON_UNARY(sin, sin)
TENON_UNARY(cos, cos)
TENON_UNARY(tan, tan)
TENON_UNARY(asin, asin)
TENON_UNARY(acos, acos)
TENON_UNARY(atan, atan)
TENON_BINARY(atan2, atan2)
TENON_UNARY(sinh, sinh)
TENON_UNARY(cosh, cosh)
TENON_UNARY(tanh, tanh)
TENON_UNARY(asinh, asinh)
TENON_UNARY(acosh, acosh)
TENON_UNARY(atanh, atanh)
TENON_UNARY(erf, erf)
TENON_UNARY(erfc, erfc)
TENON_UNARY(erfinv, erfinv)
TENON_UNARY(lgamma, lgamma)
TENON_UNARY(digamma, digamma)
TENON_UNARY(sigmoid, sigmoid)
TENON_BINARY(hypot, hypot)
TENON_BINARY(copysign, copysign)
TENON_BINARY(nextafter, nextafter)
TENON_BINARY(ldexp, ldexp)
TENON_BINARY(logical_xor, logical_xor)
TENON_UNARY(isnan, isnan)
TENON_UNARY(isinf, isinf)
TENON_UNARY(isfinite, isfinite)
TENON_UNARY(signbit, signbit)
TENON_BINARY(bit_and, bit_and)
TENON_BINARY(bit_or, bit_or)
TENON_BINARY(bit_xor, bit_xor)
TENON_UNARY(bit_not, bit_not)
TENON_BINARY(shift_left, shift_left)
TENON_BINARY(shift_right, shift_right)
#undef TENON_UNARY
#undef TENON_BINARY
inline Expr select(const Expr& condition, const Expr& a, const Expr& b) {
  return Expr::of(Prim::select, {condition, a, b});
}

/// One step of a flattened expression. `type` is the dtype of its result.
struct ScalarStep {
  Expr::Kind kind;
  Prim prim{};
  DType type{};
  int input = 0;
  double number = 0;
  std::vector<int> args;  // earlier steps
};

/// An expression as a list of steps in dependency order for given operand dtypes; the last one is the result.
struct ScalarProgram {
  std::vector<ScalarStep> steps;
  DType result() const { return steps.back().type; }
};

/// Types the tree and lists it, shared subtrees once. Throws Error when operand dtypes do not agree or a
/// function of real numbers meets integers.
ScalarProgram flatten(const Expr&, std::span<const DType> operands);

/// True when the tree holds a function of real numbers, so that integer operands are to become floats.
bool needs_real(const Expr&);

/// d expr / d input(operand) by the chain rule; zero where the derivative is zero almost everywhere.
Expr derivative(const Expr&, int operand);

}  // namespace tenon
