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

// What the derivatives in base/prims.def are written with.
using std::numbers::inv_sqrtpi, std::numbers::ln10, std::numbers::ln2;

Expr inverse(const Expr& b) { return is_number(b) ? Expr(1 / b.node().number) : recip(b); }

// Of min and max: where two operands are equal they share the derivative, as in PyTorch; a constant takes
// none of it.
Expr share(const Expr& a_wins, const Expr& a, const Expr& b, int won, int lost) {
  const Expr one = choice(a_wins, won, lost);
  return is_number(a) || is_number(b) ? one : choice(a == b, 0.5, one);
}

Expr of_base(const Expr& a, const Expr& b) {
  return b.is_constant(2) ? times(2, a) : select(b == 0, 0, b * pow(a, minus(b, 1)));
}

// The derivatives with respect to the operands, one for each.
template <std::size_t arity, class... Derivatives>
std::vector<Expr> partials(const Derivatives&... derivatives) {
  static_assert(sizeof...(derivatives) == arity, "a row of base/prims.def lacks a derivative");
  return {Expr(derivatives)...};
}

// The partial derivatives of p at its operands, where its value is y.
std::vector<Expr> partials_of(Prim p, const std::vector<Expr>& at, const Expr& y) {
  const Expr &a = at.front(), &b = at.back();
  const auto unknown = [p]() -> Expr { throw unsupported("{} has no derivative here", name(p)); };
  switch (p) {
// clang-format off
#define PRIM_NUMBER(p, n, of_float, of_int, ...) case Prim::p: return partials<n>(__VA_ARGS__);
#define PRIM_REAL(p, n, of_float, ...) case Prim::p: return partials<n>(__VA_ARGS__);
#define PRIM_TEST(p, ...) case Prim::p: return {0, 0};
#define PRIM_BITS(p, ...) case Prim::p: return {0, 0};
// clang-format on
#include "base/prims.def"
    case Prim::select:
    case Prim::cast: break;
  }
  throw InternalError("a primitive with a rule of its own");
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
    const Expr db = n.args.size() > 1 ? of(n.args[1]) : Expr(0);
    if (da.is_constant(0) && db.is_constant(0)) return 0;
    const std::vector<Expr> partials = partials_of(n.prim, n.args, e);
    const Expr first = times(da, partials[0]);
    return n.args.size() > 1 ? plus(first, times(db, partials[1])) : first;
  }

  int operand_;
  std::unordered_map<const Expr::Node*, Expr> known_;
};

}  // namespace

Expr derivative(const Expr& e, int operand) { return Differentiator(operand).of(e); }

}  // namespace tenon
