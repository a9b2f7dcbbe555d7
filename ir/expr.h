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

// The primitives by name.
#define TENON_EXPR_1(name) \
  inline Expr name(const Expr& a) { return Expr::of(Prim::name, {a}); }
#define TENON_EXPR_2(name) \
  inline Expr name(const Expr& a, const Expr& b) { return Expr::of(Prim::name, {a, b}); }
#define PRIM_NUMBER(name, arity, ...) TENON_EXPR_##arity(name)
#define PRIM_REAL(name, arity, ...) TENON_EXPR_##arity(name)
#define PRIM_TEST(name, arity, ...) TENON_EXPR_##arity(name)
#define PRIM_BITS(name, arity, ...) TENON_EXPR_##arity(name)
#include "base/prims.def"
#undef TENON_EXPR_1
#undef TENON_EXPR_2
inline Expr select(const Expr& condition, const Expr& a, const Expr& b) {
  return Expr::of(Prim::select, {condition, a, b});
}

inline Expr operator+(const Expr& a, const Expr& b) { return add(a, b); }
inline Expr operator-(const Expr& a, const Expr& b) { return sub(a, b); }
inline Expr operator*(const Expr& a, const Expr& b) { return mul(a, b); }
inline Expr operator/(const Expr& a, const Expr& b) { return div(a, b); }
inline Expr operator-(const Expr& a) { return neg(a); }
inline Expr operator<(const Expr& a, const Expr& b) { return lt(a, b); }
inline Expr operator<=(const Expr& a, const Expr& b) { return le(a, b); }
inline Expr operator>(const Expr& a, const Expr& b) { return gt(a, b); }
inline Expr operator>=(const Expr& a, const Expr& b) { return ge(a, b); }
inline Expr operator==(const Expr& a, const Expr& b) { return eq(a, b); }
inline Expr operator!=(const Expr& a, const Expr& b) { return ne(a, b); }
inline Expr operator&&(const Expr& a, const Expr& b) { return logical_and(a, b); }
inline Expr operator||(const Expr& a, const Expr& b) { return logical_or(a, b); }
inline Expr operator!(const Expr& a) { return logical_not(a); }

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
