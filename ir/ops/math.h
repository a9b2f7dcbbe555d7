// Functions of real numbers, and rounding.
#pragma once
#include <numbers>

#include "ir/define.h"

namespace tenon {

struct Exp : Pointwise<1> {
  static constexpr std::string_view name = "exp";
  Expr value(Expr x) const { return exp(x); }
  static constexpr std::array from = {aten("exp(self)"), onnx("Exp(x)")};
};

struct Exp2 : Pointwise<1> {
  static constexpr std::string_view name = "exp2";
  Expr value(Expr x) const { return exp2(x); }
  static constexpr std::array from = {aten("exp2(self)"), aten("special_exp2(self)")};
};

struct Expm1 : Pointwise<1> {
  static constexpr std::string_view name = "expm1";
  Expr value(Expr x) const { return expm1(x); }
  static constexpr std::array from = {aten("expm1(self)"), aten("special_expm1(self)")};
};

struct Log : Pointwise<1> {
  static constexpr std::string_view name = "log";
  Expr value(Expr x) const { return log(x); }
  static constexpr std::array from = {aten("log(self)"), onnx("Log(x)")};
};

struct Log2 : Pointwise<1> {
  static constexpr std::string_view name = "log2";
  Expr value(Expr x) const { return log2(x); }
  static constexpr std::array from = {aten("log2(self)")};
};

struct Log10 : Pointwise<1> {
  static constexpr std::string_view name = "log10";
  Expr value(Expr x) const { return log10(x); }
  static constexpr std::array from = {aten("log10(self)")};
};

struct Log1p : Pointwise<1> {
  static constexpr std::string_view name = "log1p";
  Expr value(Expr x) const { return log1p(x); }
  static constexpr std::array from = {aten("log1p(self)"), aten("special_log1p(self)")};
};

struct Sqrt : Pointwise<1> {
  static constexpr std::string_view name = "sqrt";
  Expr value(Expr x) const { return sqrt(x); }
  static constexpr std::array from = {aten("sqrt(self)"), onnx("Sqrt(x)")};
};

struct Rsqrt : Pointwise<1> {
  static constexpr std::string_view name = "rsqrt";
  Expr value(Expr x) const { return rsqrt(x); }
  static constexpr std::array from = {aten("rsqrt(self)")};
};

struct Reciprocal : Pointwise<1> {
  static constexpr std::string_view name = "reciprocal";
  Expr value(Expr x) const { return recip(x); }
  static constexpr std::array from = {aten("reciprocal(self)"), onnx("Reciprocal(x)")};
};

struct Sin : Pointwise<1> {
  static constexpr std::string_view name = "sin";
  Expr value(Expr x) const { return sin(x); }
  static constexpr std::array from = {aten("sin(self)"), onnx("Sin(x)")};
};

struct Cos : Pointwise<1> {
  static constexpr std::string_view name = "cos";
  Expr value(Expr x) const { return cos(x); }
  static constexpr std::array from = {aten("cos(self)"), onnx("Cos(x)")};
};

struct Tan : Pointwise<1> {
  static constexpr std::string_view name = "tan";
  Expr value(Expr x) const { return tan(x); }
  static constexpr std::array from = {aten("tan(self)"), onnx("Tan(x)")};
};

struct Asin : Pointwise<1> {
  static constexpr std::string_view name = "asin";
  Expr value(Expr x) const { return asin(x); }
  static constexpr std::array from = {aten("asin(self)"), aten("arcsin(self)"), onnx("Asin(x)")};
};

struct Acos : Pointwise<1> {
  static constexpr std::string_view name = "acos";
  Expr value(Expr x) const { return acos(x); }
  static constexpr std::array from = {aten("acos(self)"), aten("arccos(self)"), onnx("Acos(x)")};
};

struct Atan : Pointwise<1> {
  static constexpr std::string_view name = "atan";
  Expr value(Expr x) const { return atan(x); }
  static constexpr std::array from = {aten("atan(self)"), aten("arctan(self)"), onnx("Atan(x)")};
};

struct Sinh : Pointwise<1> {
  static constexpr std::string_view name = "sinh";
  Expr value(Expr x) const { return sinh(x); }
  static constexpr std::array from = {aten("sinh(self)"), onnx("Sinh(x)")};
};

struct Cosh : Pointwise<1> {
  static constexpr std::string_view name = "cosh";
  Expr value(Expr x) const { return cosh(x); }
  static constexpr std::array from = {aten("cosh(self)"), onnx("Cosh(x)")};
};

struct Tanh : Pointwise<1> {
  static constexpr std::string_view name = "tanh";
  Expr value(Expr x) const { return tanh(x); }
  static constexpr std::array from = {aten("tanh(self)"), onnx("Tanh(x)")};
};

struct Asinh : Pointwise<1> {
  static constexpr std::string_view name = "asinh";
  Expr value(Expr x) const { return asinh(x); }
  static constexpr std::array from = {aten("asinh(self)"), aten("arcsinh(self)"), onnx("Asinh(x)")};
};

struct Acosh : Pointwise<1> {
  static constexpr std::string_view name = "acosh";
  Expr value(Expr x) const { return acosh(x); }
  static constexpr std::array from = {aten("acosh(self)"), aten("arccosh(self)"), onnx("Acosh(x)")};
};

struct Atanh : Pointwise<1> {
  static constexpr std::string_view name = "atanh";
  Expr value(Expr x) const { return atanh(x); }
  static constexpr std::array from = {aten("atanh(self)"), aten("arctanh(self)"), onnx("Atanh(x)")};
};

struct Erf : Pointwise<1> {
  static constexpr std::string_view name = "erf";
  Expr value(Expr x) const { return erf(x); }
  static constexpr std::array from = {aten("erf(self)"), aten("special_erf(self)"), onnx("Erf(x)")};
};

struct Erfc : Pointwise<1> {
  static constexpr std::string_view name = "erfc";
  Expr value(Expr x) const { return erfc(x); }
  static constexpr std::array from = {aten("erfc(self)"), aten("special_erfc(self)")};
};

struct Erfinv : Pointwise<1> {
  static constexpr std::string_view name = "erfinv";
  Expr value(Expr x) const { return erfinv(x); }
  static constexpr std::array from = {aten("erfinv(self)"), aten("special_erfinv(self)")};
};

struct Lgamma : Pointwise<1> {
  static constexpr std::string_view name = "lgamma";
  Expr value(Expr x) const { return lgamma(x); }
  static constexpr std::array from = {aten("lgamma(self)"), aten("special_gammaln(self)")};
};

struct Digamma : Pointwise<1> {
  static constexpr std::string_view name = "digamma";
  Expr value(Expr x) const { return digamma(x); }
  static constexpr std::array from = {aten("digamma(self)"), aten("special_digamma(self)")};
};

struct Floor : Pointwise<1> {
  static constexpr std::string_view name = "floor";
  Expr value(Expr x) const { return floor(x); }
  static constexpr std::array from = {aten("floor(self)"), onnx("Floor(x)")};
};

struct Ceil : Pointwise<1> {
  static constexpr std::string_view name = "ceil";
  Expr value(Expr x) const { return ceil(x); }
  static constexpr std::array from = {aten("ceil(self)"), onnx("Ceil(x)")};
};

struct Trunc : Pointwise<1> {
  static constexpr std::string_view name = "trunc";
  Expr value(Expr x) const { return trunc(x); }
  static constexpr std::array from = {aten("trunc(self)"), aten("fix(self)")};
};

/// To the nearest integer, ties to even.
struct Round : Pointwise<1> {
  static constexpr std::string_view name = "round";
  Expr value(Expr x) const { return round(x); }
  static constexpr std::array from = {aten("round(self)"), onnx("Round(x)")};
};

struct Atan2 : Pointwise<2> {
  static constexpr std::string_view name = "atan2";
  Expr value(Expr a, Expr b) const { return atan2(a, b); }
  static constexpr std::array from = {aten("atan2(self, other)"), aten("arctan2(self, other)")};
};

/// sin(pi x) / (pi x), and 1 at 0.
struct Sinc : Pointwise<1> {
  static constexpr std::string_view name = "sinc";
  Expr value(Expr x) const {
    const Expr t = x * std::numbers::pi;
    return select(x == 0, 1, sin(t) / t);
  }
  static constexpr std::array from = {aten("sinc(self)"), aten("special_sinc(self)")};
};

struct Hypot : Pointwise<2> {
  static constexpr std::string_view name = "hypot";
  Expr value(Expr a, Expr b) const { return hypot(a, b); }
  static constexpr std::array from = {aten("hypot(self, other)")};
};

struct Copysign : Pointwise<2> {
  static constexpr std::string_view name = "copysign";
  Expr value(Expr a, Expr b) const { return copysign(a, b); }
  static constexpr std::array from = {aten("copysign(self, other)")};
};

struct Nextafter : Pointwise<2> {
  static constexpr std::string_view name = "nextafter";
  Expr value(Expr a, Expr b) const { return nextafter(a, b); }
  static constexpr std::array from = {aten("nextafter(self, other)")};
};

/// a * 2^b.
struct Ldexp : Pointwise<2> {
  static constexpr std::string_view name = "ldexp";
  Expr value(Expr a, Expr b) const { return ldexp(a, b); }
  static constexpr std::array from = {aten("ldexp(self, other)")};
};

using Math = OpList<Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sqrt, Rsqrt, Reciprocal, Sin, Cos, Tan, Asin,
                    Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Erf, Erfc, Erfinv, Lgamma, Digamma,
                    Floor, Ceil, Trunc, Round, Atan2, Hypot, Copysign, Nextafter, Ldexp, Sinc>;

}  // namespace tenon
