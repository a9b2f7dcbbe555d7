// Arithmetic on numbers: operands of one dtype, broadcast.
#pragma once
#include <optional>

#include "ir/define.h"

namespace tenon {

struct Add : Pointwise<2> {
  static constexpr std::string_view name = "add";
  Expr value(Expr a, Expr b) const { return a + b; }
  static constexpr std::array from = {onnx("Add(a, b)")};
};

struct Sub : Pointwise<2> {
  static constexpr std::string_view name = "sub";
  Expr value(Expr a, Expr b) const { return a - b; }
  static constexpr std::array from = {onnx("Sub(a, b)")};
};

struct Mul : Pointwise<2> {
  static constexpr std::string_view name = "mul";
  Expr value(Expr a, Expr b) const { return a * b; }
  static constexpr std::array from = {aten("mul(self, other)"), aten("multiply(self, other)"),
                                      onnx("Mul(a, b)")};
};

/// True division: integers become floats.
struct Div : Pointwise<2> {
  static constexpr std::string_view name = "div";
  static constexpr bool real_operands = true;
  Expr value(Expr a, Expr b) const { return a / b; }
  static constexpr std::array from = {aten("div(self, other)"), aten("divide(self, other)"),
                                      aten("true_divide(self, other)")};
};

struct FloorDiv : Pointwise<2> {
  static constexpr std::string_view name = "floor_div";
  Expr value(Expr a, Expr b) const { return floor_div(a, b); }
  static constexpr std::array from = {aten("floor_divide(self, other)")};
};

struct TruncDiv : Pointwise<2> {
  static constexpr std::string_view name = "trunc_div";
  Expr value(Expr a, Expr b) const { return trunc_div(a, b); }
};

/// Remainder with the sign of the divisor (Python's %).
struct Remainder : Pointwise<2> {
  static constexpr std::string_view name = "remainder";
  Expr value(Expr a, Expr b) const { return remainder(a, b); }
  static constexpr std::array from = {aten("remainder(self, other)"), onnx("Mod(a, b)")};
};

/// Remainder with the sign of the dividend (C's fmod).
struct Fmod : Pointwise<2> {
  static constexpr std::string_view name = "fmod";
  Expr value(Expr a, Expr b) const { return fmod(a, b); }
  static constexpr std::array from = {aten("fmod(self, other)")};
};

struct Pow : Pointwise<2> {
  static constexpr std::string_view name = "pow";
  Expr value(Expr a, Expr b) const { return pow(a, b); }
  static constexpr std::array from = {aten("pow(self, exponent)")};
};

struct Neg : Pointwise<1> {
  static constexpr std::string_view name = "neg";
  Expr value(Expr x) const { return -x; }
  static constexpr std::array from = {aten("neg(self)"), aten("negative(self)"), onnx("Neg(x)")};
};

struct Abs : Pointwise<1> {
  static constexpr std::string_view name = "abs";
  Expr value(Expr x) const { return abs(x); }
  static constexpr std::array from = {aten("abs(self)"), aten("absolute(self)"), onnx("Abs(x)")};
};

struct Sign : Pointwise<1> {
  static constexpr std::string_view name = "sign";
  Expr value(Expr x) const { return sign(x); }
  static constexpr std::array from = {aten("sign(self)"), aten("sgn(self)"), onnx("Sign(x)")};
};

/// NaN when either is NaN.
struct Minimum : Pointwise<2> {
  static constexpr std::string_view name = "minimum";
  Expr value(Expr a, Expr b) const { return min(a, b); }
  static constexpr std::array from = {aten("minimum(self, other)"), aten("min.other(self, other)")};
};

/// NaN when either is NaN.
struct Maximum : Pointwise<2> {
  static constexpr std::string_view name = "maximum";
  Expr value(Expr a, Expr b) const { return max(a, b); }
  static constexpr std::array from = {aten("maximum(self, other)"), aten("max.other(self, other)")};
};

/// Ignores a NaN beside a number.
struct Fmin : Pointwise<2> {
  static constexpr std::string_view name = "fmin";
  Expr value(Expr a, Expr b) const { return fmin(a, b); }
  static constexpr std::array from = {aten("fmin(self, other)")};
};

/// Ignores a NaN beside a number.
struct Fmax : Pointwise<2> {
  static constexpr std::string_view name = "fmax";
  Expr value(Expr a, Expr b) const { return fmax(a, b); }
  static constexpr std::array from = {aten("fmax(self, other)")};
};

/// Into [min, max]; a bound that is none does not hold. NaN stays. With min > max the result is max.
struct Clamp : Pointwise<1> {
  static constexpr std::string_view name = "clamp";
  std::optional<double> min, max;
  static constexpr auto fields = std::tuple{field("min", &Clamp::min), field("max", &Clamp::max)};
  Expr value(Expr x) const {
    if (min) x = tenon::max(x, *min);
    if (max) x = tenon::min(x, *max);
    return x;
  }
  static constexpr std::array from = {aten("clamp(self, min=min, max=max)"),
                                      aten("clip(self, min=min, max=max)"), aten("clamp_min(self, min=min)"),
                                      aten("clamp_max(self, max=max)"),
                                      aten("hardtanh(self, min=min_val, max=max_val)")};
};

using Arithmetic = OpList<Add, Sub, Mul, Div, FloorDiv, TruncDiv, Remainder, Fmod, Pow, Neg, Abs, Sign,
                          Minimum, Maximum, Fmin, Fmax, Clamp>;

}  // namespace tenon
