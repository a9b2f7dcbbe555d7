// Derivatives of scalar expressions by the chain rule, simplified as they are built.
#include <cmath>
#include <numbers>
#include <unordered_map>

#include "base/error.h"
#include "ir/expr.h"

namespace tenon {
namespace {

bool is_number(const Expr& e) { return e.node().kind == Expr::Kind::constant; }

Expr times(const Expr& a, const Expr& b) {
  if (a.is_constant(0) || b.is_constant(0)) return 0;
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  if (is_number(a) && is_number(b)) return a.node().number * b.node().number;
  return a * b;
}

Expr plus(const Expr& a, const Expr& b) {
  if (a.is_constant(0)) return b;
  if (b.is_constant(0)) return a;
  if (is_number(a) && is_number(b)) return a.node().number + b.node().number;
  return a + b;
}

Expr negative(const Expr& a) { return is_number(a) ? Expr(-a.node().number) : -a; }
Expr minus(const Expr& a, const Expr& b) { return b.is_constant(0) ? a : plus(a, negative(b)); }

Expr choice(const Expr& condition, const Expr& a, const Expr& b) {
  if (is_number(a) && is_number(b) && a.node().number == b.node().number) return a;
  return select(condition, a, b);
}

// The derivative of a function of one number at x; y is its value there.
Expr unary(Prim p, const Expr& x, const Expr& y) {
  switch (p) {
    case Prim::neg: return -1;
    case Prim::abs: return sign(x);
    case Prim::recip: return -(y * y);
    case Prim::sqrt: return 0.5 / y;
    case Prim::rsqrt: return -0.5 * (y * y * y);
    case Prim::exp: return y;
    case Prim::exp2: return y * std::numbers::ln2;
    case Prim::expm1: return y + 1;
    case Prim::log: return recip(x);
    case Prim::log2: return recip(x * std::numbers::ln2);
    case Prim::log10: return recip(x * std::numbers::ln10);
    case Prim::log1p: return recip(x + 1);
    case Prim::sin: return cos(x);
    case Prim::cos: return -sin(x);
    case Prim::tan: return 1 + y * y;
    case Prim::asin: return rsqrt(1 - x * x);
    case Prim::acos: return -rsqrt(1 - x * x);
    case Prim::atan: return recip(1 + x * x);
    case Prim::sinh: return cosh(x);
    case Prim::cosh: return sinh(x);
    case Prim::tanh: return 1 - y * y;
    case Prim::asinh: return rsqrt(x * x + 1);
    case Prim::acosh: return rsqrt(x * x - 1);
    case Prim::atanh: return recip(1 - x * x);
    case Prim::erf: return 2 * std::numbers::inv_sqrtpi * exp(-(x * x));
    case Prim::erfc: return -2 * std::numbers::inv_sqrtpi * exp(-(x * x));
    case Prim::erfinv: return 0.5 / std::numbers::inv_sqrtpi * exp(y * y);
    case Prim::lgamma: return digamma(x);
    case Prim::sigmoid: return y * (1 - y);
    case Prim::sign:  // constant almost everywhere, as roundings, tests and bits are
    case Prim::floor:
    case Prim::ceil:
    case Prim::trunc:
    case Prim::round:
    case Prim::logical_not:
    case Prim::isnan:
    case Prim::isinf:
    case Prim::isfinite:
    case Prim::signbit:
    case Prim::bit_not: return 0;
    default: throw unsupported("{} has no derivative here", name(p));
  }
}

// The partial derivatives of a function of two numbers at (a, b); y is its value there. Where two operands
// are equal, min and max share the derivative, as in PyTorch; a constant operand takes none of it.
struct Partial {
  Expr a, b;
};

Partial of_extremum(const Expr& a_wins, const Expr& a, const Expr& b) {
  if (is_number(a) || is_number(b)) return {choice(a_wins, 1, 0), choice(a_wins, 0, 1)};
  return {choice(a == b, 0.5, choice(a_wins, 1, 0)), choice(a == b, 0.5, choice(a_wins, 0, 1))};
}

Partial of_power(const Expr& a, const Expr& b, const Expr& y) {
  const Expr in_base = b.is_constant(2) ? times(2, a) : select(b == 0, 0, b * pow(a, minus(b, 1)));
  return {in_base, select(a == 0 && b >= 0, 0, y * log(a))};
}

Partial binary(Prim p, const Expr& a, const Expr& b, const Expr& y) {
  switch (p) {
    case Prim::add: return {1, 1};
    case Prim::sub: return {1, -1};
    case Prim::mul: return {b, a};
    case Prim::div: return {is_number(b) ? Expr(1 / b.node().number) : recip(b), -(y / b)};
    case Prim::remainder: return {1, -floor_div(a, b)};
    case Prim::fmod: return {1, -trunc_div(a, b)};
    case Prim::min:
    case Prim::fmin: return of_extremum(a < b, a, b);
    case Prim::max:
    case Prim::fmax: return of_extremum(a > b, a, b);
    case Prim::pow: return of_power(a, b, y);
    case Prim::atan2: return {b / (a * a + b * b), -a / (a * a + b * b)};
    case Prim::hypot: return {a / y, b / y};
    case Prim::copysign: return {select(a == 0, 0, y / a), 0};
    case Prim::ldexp: return {exp2(b), y * std::numbers::ln2};
    case Prim::nextafter: return {1, 0};
    case Prim::floor_div:
    case Prim::trunc_div:
    case Prim::lt:
    case Prim::le:
    case Prim::gt:
    case Prim::ge:
    case Prim::eq:
    case Prim::ne:
    case Prim::logical_and:
    case Prim::logical_or:
    case Prim::logical_xor:
    case Prim::bit_and:
    case Prim::bit_or:
    case Prim::bit_xor:
    case Prim::shift_left:
    case Prim::shift_right: return {0, 0};
    default: throw unsupported("{} has no derivative here", name(p));
  }
}

class Differentiator {
 public:
  explicit Differentiator(int operand) : operand_(operand) {}

  Expr of(const Expr& e) {
    const Expr::Node& n = e.node();
    if (n.kind == Expr::Kind::input) return n.input == operand_ ? 1 : 0;
    if (n.kind == Expr::Kind::constant) return 0;
    const auto known = known_.find(&n);
    if (known != known_.end()) return known->second;
    const Expr d = of_prim(e);
    known_.emplace(&n, d);
    return d;
  }

 private:
  Expr of_prim(const Expr& e) {
    const Expr::Node& n = e.node();
    if (n.prim == Prim::select) return choice(n.args[0], of(n.args[1]), of(n.args[2]));
    const Expr da = of(n.args[0]);
    if (n.prim == Prim::cast) return is_float(n.to) ? (is_number(da) ? da : cast(n.to, da)) : Expr(0);
    if (n.args.size() == 1) return da.is_constant(0) ? da : times(da, unary(n.prim, n.args[0], e));
    const Expr db = of(n.args[1]);
    if (da.is_constant(0) && db.is_constant(0)) return 0;
    const Partial partial = binary(n.prim, n.args[0], n.args[1], e);
    return plus(times(da, partial.a), times(db, partial.b));
  }

  int operand_;
  std::unordered_map<const Expr::Node*, Expr> known_;
};

}  // namespace

Expr derivative(const Expr& e, int operand) { return Differentiator(operand).of(e); }

}  // namespace tenon
