// Comparisons, truth values, bits, and choosing by condition.
#pragma once
#include "ir/define.h"

namespace tenon {

struct Less : Pointwise<2> {
  static constexpr std::string_view name = "less";
  Expr value(Expr a, Expr b) const { return a < b; }
  static constexpr std::array from = {aten("lt(self, other)"), aten("less(self, other)"), onnx("Less(a, b)")};
};

struct LessEqual : Pointwise<2> {
  static constexpr std::string_view name = "less_equal";
  Expr value(Expr a, Expr b) const { return a <= b; }
  static constexpr std::array from = {aten("le(self, other)"), aten("less_equal(self, other)"),
                                      onnx("LessOrEqual(a, b)")};
};

struct Greater : Pointwise<2> {
  static constexpr std::string_view name = "greater";
  Expr value(Expr a, Expr b) const { return a > b; }
  static constexpr std::array from = {aten("gt(self, other)"), aten("greater(self, other)"),
                                      onnx("Greater(a, b)")};
};

struct GreaterEqual : Pointwise<2> {
  static constexpr std::string_view name = "greater_equal";
  Expr value(Expr a, Expr b) const { return a >= b; }
  static constexpr std::array from = {aten("ge(self, other)"), aten("greater_equal(self, other)"),
                                      onnx("GreaterOrEqual(a, b)")};
};

struct Equal : Pointwise<2> {
  static constexpr std::string_view name = "equal";
  Expr value(Expr a, Expr b) const { return a == b; }
  static constexpr std::array from = {aten("eq(self, other)"), onnx("Equal(a, b)")};
};

struct NotEqual : Pointwise<2> {
  static constexpr std::string_view name = "not_equal";
  Expr value(Expr a, Expr b) const { return a != b; }
  static constexpr std::array from = {aten("ne(self, other)"), aten("not_equal(self, other)")};
};

struct LogicalAnd : Pointwise<2> {
  static constexpr std::string_view name = "logical_and";
  Expr value(Expr a, Expr b) const { return a && b; }
  static constexpr std::array from = {aten("logical_and(self, other)"), onnx("And(a, b)")};
};

struct LogicalOr : Pointwise<2> {
  static constexpr std::string_view name = "logical_or";
  Expr value(Expr a, Expr b) const { return a || b; }
  static constexpr std::array from = {aten("logical_or(self, other)"), onnx("Or(a, b)")};
};

struct LogicalXor : Pointwise<2> {
  static constexpr std::string_view name = "logical_xor";
  Expr value(Expr a, Expr b) const { return logical_xor(a, b); }
  static constexpr std::array from = {aten("logical_xor(self, other)"), onnx("Xor(a, b)")};
};

struct LogicalNot : Pointwise<1> {
  static constexpr std::string_view name = "logical_not";
  Expr value(Expr x) const { return !x; }
  static constexpr std::array from = {aten("logical_not(self)"), onnx("Not(x)")};
};

struct BitAnd : Pointwise<2> {
  static constexpr std::string_view name = "bit_and";
  Expr value(Expr a, Expr b) const { return bit_and(a, b); }
  static constexpr std::array from = {aten("bitwise_and(self, other)"), aten("__and__(self, other)"),
                                      onnx("BitwiseAnd(a, b)")};
};

struct BitOr : Pointwise<2> {
  static constexpr std::string_view name = "bit_or";
  Expr value(Expr a, Expr b) const { return bit_or(a, b); }
  static constexpr std::array from = {aten("bitwise_or(self, other)"), aten("__or__(self, other)"),
                                      onnx("BitwiseOr(a, b)")};
};

struct BitXor : Pointwise<2> {
  static constexpr std::string_view name = "bit_xor";
  Expr value(Expr a, Expr b) const { return bit_xor(a, b); }
  static constexpr std::array from = {aten("bitwise_xor(self, other)"), aten("__xor__(self, other)"),
                                      onnx("BitwiseXor(a, b)")};
};

struct BitNot : Pointwise<1> {
  static constexpr std::string_view name = "bit_not";
  Expr value(Expr x) const { return bit_not(x); }
  static constexpr std::array from = {aten("bitwise_not(self)"), onnx("BitwiseNot(x)")};
};

struct ShiftLeft : Pointwise<2> {
  static constexpr std::string_view name = "shift_left";
  Expr value(Expr a, Expr b) const { return shift_left(a, b); }
  static constexpr std::array from = {aten("bitwise_left_shift(self, other)"),
                                      aten("__lshift__(self, other)")};
};

/// Keeps the sign of the left operand.
struct ShiftRight : Pointwise<2> {
  static constexpr std::string_view name = "shift_right";
  Expr value(Expr a, Expr b) const { return shift_right(a, b); }
  static constexpr std::array from = {aten("bitwise_right_shift(self, other)"),
                                      aten("__rshift__(self, other)")};
};

struct IsNan : Pointwise<1> {
  static constexpr std::string_view name = "isnan";
  Expr value(Expr x) const { return isnan(x); }
  static constexpr std::array from = {aten("isnan(self)"), onnx("IsNaN(x)")};
};

struct IsInf : Pointwise<1> {
  static constexpr std::string_view name = "isinf";
  Expr value(Expr x) const { return isinf(x); }
  static constexpr std::array from = {aten("isinf(self)"), onnx("IsInf(x)")};
};

struct IsFinite : Pointwise<1> {
  static constexpr std::string_view name = "isfinite";
  Expr value(Expr x) const { return isfinite(x); }
  static constexpr std::array from = {aten("isfinite(self)")};
};

struct SignBit : Pointwise<1> {
  static constexpr std::string_view name = "signbit";
  Expr value(Expr x) const { return signbit(x); }
  static constexpr std::array from = {aten("signbit(self)")};
};

/// a where the condition (bool) holds, else b.
struct Where : Pointwise<3> {
  static constexpr std::string_view name = "where";
  Expr value(Expr condition, Expr a, Expr b) const { return select(condition, a, b); }
  static constexpr std::array from = {aten("where.self(condition, self, other)"),
                                      onnx("Where(condition, a, b)")};
};

using Logic = OpList<Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual, LogicalAnd, LogicalOr,
                     LogicalXor, LogicalNot, BitAnd, BitOr, BitXor, BitNot, ShiftLeft, ShiftRight, IsNan,
                     IsInf, IsFinite, SignBit, Where>;

}  // namespace tenon
