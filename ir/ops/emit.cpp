// Scalar expressions as nodes: one primitive, one operator.
#include "base/error.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"

namespace tenon {
namespace {

Op operator_of(Prim p, DType to) {
  switch (p) {
    case Prim::add: return Add{};
    case Prim::sub: return Sub{};
    case Prim::mul: return Mul{};
    case Prim::div: return Div{};
    case Prim::floor_div: return FloorDiv{};
    case Prim::trunc_div: return TruncDiv{};
    case Prim::remainder: return Remainder{};
    case Prim::fmod: return Fmod{};
    case Prim::neg: return Neg{};
    case Prim::abs: return Abs{};
    case Prim::sign: return Sign{};
    case Prim::min: return Minimum{};
    case Prim::max: return Maximum{};
    case Prim::fmin: return Fmin{};
    case Prim::fmax: return Fmax{};
    case Prim::pow: return Pow{};
    case Prim::floor: return Floor{};
    case Prim::ceil: return Ceil{};
    case Prim::trunc: return Trunc{};
    case Prim::round: return Round{};
    case Prim::recip: return Reciprocal{};
    case Prim::sqrt: return Sqrt{};
    case Prim::rsqrt: return Rsqrt{};
    case Prim::exp: return Exp{};
    case Prim::exp2: return Exp2{};
    case Prim::expm1: return Expm1{};
    case Prim::log: return Log{};
    case Prim::log2: return Log2{};
    case Prim::log10: return Log10{};
    case Prim::log1p: return Log1p{};
    case Prim::sin: return Sin{};
    case Prim::cos: return Cos{};
    case Prim::tan: return Tan{};
    case Prim::asin: return Asin{};
    case Prim::acos: return Acos{};
    case Prim::atan: return Atan{};
    case Prim::atan2: return Atan2{};
    case Prim::sinh: return Sinh{};
    case Prim::cosh: return Cosh{};
    case Prim::tanh: return Tanh{};
    case Prim::asinh: return Asinh{};
    case Prim::acosh: return Acosh{};
    case Prim::atanh: return Atanh{};
    case Prim::erf: return Erf{};
    case Prim::erfc: return Erfc{};
    case Prim::erfinv: return Erfinv{};
    case Prim::lgamma: return Lgamma{};
    case Prim::digamma: return Digamma{};
    case Prim::sigmoid: return Sigmoid{};
    case Prim::hypot: return Hypot{};
    case Prim::copysign: return Copysign{};
    case Prim::nextafter: return Nextafter{};
    case Prim::ldexp: return Ldexp{};
    case Prim::lt: return Less{};
    case Prim::le: return LessEqual{};
    case Prim::gt: return Greater{};
    case Prim::ge: return GreaterEqual{};
    case Prim::eq: return Equal{};
    case Prim::ne: return NotEqual{};
    case Prim::logical_and: return LogicalAnd{};
    case Prim::logical_or: return LogicalOr{};
    case Prim::logical_xor: return LogicalXor{};
    case Prim::logical_not: return LogicalNot{};
    case Prim::isnan: return IsNan{};
    case Prim::isinf: return IsInf{};
    case Prim::isfinite: return IsFinite{};
    case Prim::signbit: return SignBit{};
    case Prim::bit_and: return BitAnd{};
    case Prim::bit_or: return BitOr{};
    case Prim::bit_xor: return BitXor{};
    case Prim::bit_not: return BitNot{};
    case Prim::shift_left: return ShiftLeft{};
    case Prim::shift_right: return ShiftRight{};
    case Prim::select: return Where{};
    case Prim::cast: return Cast{.to = to};
  }
  throw InternalError("a primitive without an operator");
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
