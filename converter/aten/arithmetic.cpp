// Pointwise operators that are not one operator here: alpha, rounding modes, Python numbers, bounds.
#include "ir/ops/arithmetic.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "converter/aten/halves.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/ops/activation.h"
#include "ir/ops/cast.h"
#include "ir/ops/create.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"
#include "ir/ops/working_dtype.h"

namespace tenon::converter {

namespace {

/// The integer that an operand is known to be: an int, or a rank-0 i64 such as a size in a traced model.
std::optional<Dim> known_integer(Builder& build, const Datum& d) {
  if (const auto* dim = d.get<Dim>()) return *dim;
  const auto* t = d.get<TensorPtr>();
  if (!t || (*t)->dtype() != DType::i64) return std::nullopt;
  const auto number = build.known_number(*t);
  return number && number->is<Dim>() ? std::optional(*number->get<Dim>()) : std::nullopt;
}

using IntegerRule = std::function<Dim(const Dim&, const Dim&)>;

/// Sizes stay sizes: a traced model computes them as rank-0 tensors.
std::optional<Results> on_integers(Builder& build, const Datum& a, const Datum& b, const IntegerRule& rule) {
  const auto x = known_integer(build, a);
  const auto y = known_integer(build, b);
  if (!x || !y) return std::nullopt;
  return Results(build.number(rule(*x, *y)));
}

/// The right operand as PyTorch's executor sees it: a rank-0 constant of the code is a Python number.
Datum right_operand(Call& call, std::string_view argument) {
  const Datum& d = call.datum(argument);
  const auto* t = d.get<TensorPtr>();
  return t && (*t)->constant ? *(*t)->constant : d;
}

Ref times(const Ref& x, const Datum& factor, Builder& build) {
  const auto* known = factor.get<Dim>();
  if (known && *known == Dim(1)) return x;
  if (const auto* real = factor.get<double>()) {
    if (*real == 1) return x;
    if (!is_float(x.dtype())) throw error("a float factor (alpha) for integer tensors");
  }
  return x * build.literal(factor, x.dtype());
}

Datum alpha_of(Call& call) { return call.has("alpha") ? right_operand(call, "alpha") : Datum(Dim(1)); }

Results add(Call& call) {
  const std::array given = {call.datum("self"), right_operand(call, "other")};
  const Datum alpha = alpha_of(call);
  if (const auto* factor = alpha.get<Dim>()) {
    const auto sum = [&](const Dim& a, const Dim& b) { return a + *factor * b; };
    if (auto result = on_integers(call.build, given[0], given[1], sum)) return *result;
  }
  const auto x = promoted(call.build, given);
  if (is_bool(x[0].dtype())) return logical_or(x[0], x[1]);
  return x[0] + times(x[1], alpha, call.build);
}

Results subtract(Call& call, const Datum& from, const Datum& what) {
  const Datum alpha = alpha_of(call);
  if (const auto* factor = alpha.get<Dim>()) {
    const auto difference = [&](const Dim& a, const Dim& b) { return a - *factor * b; };
    if (auto result = on_integers(call.build, from, what, difference)) return *result;
  }
  const std::array given = {from, what};
  const auto x = promoted(call.build, given);
  if (is_bool(x[0].dtype())) throw error("subtraction of bool tensors").hint("use logical_xor");
  return x[0] - times(x[1], alpha, call.build);
}

Results sub(Call& call) { return subtract(call, call.datum("self"), right_operand(call, "other")); }
Results rsub(Call& call) { return subtract(call, call.datum("other"), call.datum("self")); }

Results mul(Call& call) {
  const std::array given = {call.datum("self"), right_operand(call, "other")};
  const auto product = [](const Dim& a, const Dim& b) { return a * b; };
  if (auto result = on_integers(call.build, given[0], given[1], product)) return *result;
  const auto x = promoted(call.build, given);
  if (is_bool(x[0].dtype())) return logical_and(x[0], x[1]);
  return x[0] * x[1];
}

Results floor_divide(Call& call) {
  const std::array given = {call.datum("self"), call.datum("other")};
  const auto rule = [](const Dim& a, const Dim& b) { return floor_div(a, b); };
  if (auto result = on_integers(call.build, given[0], given[1], rule)) return *result;
  return tenon::apply(FloorDiv{}, promoted(call.build, given));
}

Results div(Call& call) {
  const std::string rounding = call.word("rounding_mode", "");
  const Datum& other = call.datum("other");
  const std::array given = {call.datum("self"), rounding.empty() ? right_operand(call, "other") : other};
  if (rounding.empty()) return tenon::apply(Div{}, promoted(call.build, given, true));
  if (rounding != "floor" && rounding != "trunc") throw error("rounding_mode is '{}'", rounding);
  const bool floor = rounding == "floor";
  const auto rule = [](const Dim& a, const Dim& b) { return floor_div(a, b); };
  const auto a = known_integer(call.build, given[0]);
  const auto b = known_integer(call.build, given[1]);
  const bool positive = a && b && a->range().min.value_or(-1) >= 0 && b->range().min.value_or(-1) > 0;
  if (floor || positive) {
    if (auto result = on_integers(call.build, given[0], given[1], rule)) return *result;
  }
  const auto x = promoted(call.build, given);
  // Quotients of 16-bit floats are rounded before they are truncated.
  if (!floor && is_float(x[0].dtype()) && working_dtype(x[0].dtype()) != x[0].dtype())
    return trunc(x[0] / x[1]);
  return floor ? tenon::apply(FloorDiv{}, x) : tenon::apply(TruncDiv{}, x);
}

Results remainder(Call& call) {
  const std::array given = {call.datum("self"), call.datum("other")};
  const auto rule = [](const Dim& a, const Dim& b) { return mod(a, b); };
  if (auto result = on_integers(call.build, given[0], given[1], rule)) return *result;
  return tenon::apply(Remainder{}, promoted(call.build, given));
}

Results neg(Call& call) {
  const Datum& x = call.datum("self");
  if (const auto known = known_integer(call.build, x)) return call.build.number(-*known);
  return -call.tensor("self");
}

Results smaller(Call& call) {
  const std::array given = {call.datum("self"), call.datum("other")};
  const auto rule = [](const Dim& a, const Dim& b) { return min(a, b); };
  if (auto result = on_integers(call.build, given[0], given[1], rule)) return *result;
  return tenon::apply(Minimum{}, promoted(call.build, given));
}

Results larger(Call& call) {
  const std::array given = {call.datum("self"), call.datum("other")};
  const auto rule = [](const Dim& a, const Dim& b) { return max(a, b); };
  if (auto result = on_integers(call.build, given[0], given[1], rule)) return *result;
  return tenon::apply(Maximum{}, promoted(call.build, given));
}

/// Of a float type.
double largest_number(DType dtype) {
  switch (dtype) {
    case DType::f16: return 65504.0;
    case DType::bf16: return 0x1.fep127;
    case DType::f32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

std::optional<double> known_exponent(const Datum& d) {
  if (const auto* real = d.get<double>()) return *real;
  if (const auto* dim = d.get<Dim>(); dim && dim->is_known()) return static_cast<double>(dim->value());
  return std::nullopt;
}

/// The exponents for which PyTorch itself does not call pow.
Results wide_pow(Call& call) {
  const std::array given = {call.datum("self"), call.datum("exponent")};
  const auto x = promoted(call.build, given);
  const auto exponent = known_exponent(given[1]);
  const bool real = is_float(x[0].dtype());
  if (exponent == 1) return x[0];
  if (exponent == 2) return x[0] * x[0];
  if (exponent == 3) return x[0] * x[0] * x[0];
  if (real && exponent == 0.5) return sqrt(x[0]);
  if (real && exponent == -0.5) return rsqrt(x[0]);
  if (real && exponent == -1) return reciprocal(x[0]);
  if (real && exponent == -2) return reciprocal(x[0] * x[0]);
  return tenon::apply(Pow{}, x);
}

/// In f16 PyTorch calls pow for roots, too: that of minus infinity is infinity, and that of -0 is 0.
Results pow(Call& call) {
  const std::array given = {call.datum("self"), call.datum("exponent")};
  const auto exponent = known_exponent(given[1]);
  const bool root = exponent == 0.5 || exponent == -0.5;
  const Ref base = promoted(call.build, given)[0];
  if (!root || base.dtype() != DType::f16) return run_in_f32(wide_pow, call);
  const Ref x = cast(DType::f32, base), zero = x.literal(0);
  const Ref y = where(equal(x, zero), zero, where(apply(IsInf{}, {x}), abs(x), x));
  return cast(DType::f16, exponent == 0.5 ? sqrt(y) : rsqrt(y));
}

/// The number of a 16-bit float type beside a, towards b: a step of 0.6 units in the last place, or 1.2 where
/// a is just below a power of two, is rounded to one.
Ref half_beside(const Ref& a, const Ref& b, DType dtype) {
  const bool f16 = dtype == DType::f16;
  const double unit = f16 ? 0x1p-10 : 0x1p-7, smallest = f16 ? 0x1p-24 : 0x1p-133;
  const Ref step = maximum(abs(a) * (0.6 * unit), a.literal(0.6 * smallest));
  const Ref largest = where(a > b, a.literal(largest_number(dtype)), a.literal(-largest_number(dtype)));
  const Ref beside = where(apply(IsInf{}, {a}), largest, where(a > b, a - step, a + step));
  const Ref number = where(equal(a, b), b, beside);
  return where(logical_or(apply(IsNan{}, {a}), apply(IsNan{}, {b})), a + b, number);
}

Results nextafter(Call& call) {
  const std::array given = {call.datum("self"), call.datum("other")};
  const auto x = promoted(call.build, given, true);
  const DType dtype = x[0].dtype();
  if (working_dtype(dtype) == dtype) return tenon::apply(Nextafter{}, x);
  return cast(dtype, half_beside(working(x[0]), working(x[1]), dtype));
}

Results square(Call& call) {
  Ref x = call.tensor("self");
  if (is_bool(x.dtype())) x = cast(DType::i64, x);
  return x * x;
}

Results clamp_between(Call& call, std::string_view low, std::string_view high) {
  std::vector<Datum> given = {call.datum("self")};
  const bool has_low = call.has(low);
  const bool has_high = call.has(high);
  if (has_low) given.push_back(call.datum(low));
  if (has_high) given.push_back(call.datum(high));
  if (given.size() == 1) throw error("clamp without a bound");
  const DType dtype = result_type(given);
  const Ref x = operand(call.build, given[0], dtype);
  bool numbers = true;
  for (std::size_t i = 1; i < given.size(); ++i) {
    const auto* whole = given[i].get<Dim>();
    const bool is_exact = !whole || !whole->is_known() || fits_double(whole->value());
    numbers &= known_exponent(given[i]).has_value() && is_exact;
  }
  if (numbers) {
    Clamp op;
    if (has_low) op.min = call.number(low);
    if (has_high) op.max = call.number(high);
    return apply(op, {x});
  }
  Ref y = x;
  if (has_low) y = maximum(y, operand(call.build, given[1], dtype));
  if (has_high) y = minimum(y, operand(call.build, given.back(), dtype));
  return y;
}

Results clamp(Call& call) { return clamp_between(call, "min", "max"); }
Results clamp_min(Call& call) { return clamp_between(call, "min", ""); }
Results clamp_max(Call& call) { return clamp_between(call, "", "max"); }

Results hardtanh(Call& call) {
  return apply(Clamp{.min = call.number("min_val", -1), .max = call.number("max_val", 1)},
               {call.tensor("self")});
}
Results relu6(Call& call) { return apply(Clamp{.min = 0, .max = 6}, {call.tensor("self")}); }

std::vector<Ref> three_operands(Call& call, std::string_view b, std::string_view c) {
  const std::array given = {call.datum("self"), call.datum(b), call.datum(c)};
  return promoted(call.build, given);
}
Datum value_of(Call& call) { return call.has("value") ? call.datum("value") : Datum(Dim(1)); }

Results addcmul(Call& call) {
  const auto x = three_operands(call, "tensor1", "tensor2");
  return x[0] + times(x[1] * x[2], value_of(call), call.build);
}
Results addcdiv(Call& call) {
  const auto x = three_operands(call, "tensor1", "tensor2");
  if (!is_float(x[0].dtype())) throw error("addcdiv of integer tensors");
  return x[0] + times(x[1] / x[2], value_of(call), call.build);
}

Results lerp(Call& call) {
  const std::array given = {call.datum("self"), call.datum("end"), call.datum("weight")};
  const auto x = promoted(call.build, given);
  const Ref near_start = x[0] + x[2] * (x[1] - x[0]);
  const Ref near_end = x[1] - (x[1] - x[0]) * (1.0 - x[2]);
  if (const auto known = known_exponent(given[2])) return std::abs(*known) < 0.5 ? near_start : near_end;
  return where(abs(x[2]) < x[2].literal(0.5), near_start, near_end);
}

Results where_op(Call& call) {
  if (!call.find("self")) return list_of_places(call.build, call.tensor("condition"));
  Ref condition = call.tensor("condition");
  if (!is_bool(condition.dtype())) condition = not_equal(condition, condition.literal(0));
  const std::array given = {call.datum("self"), call.datum("other")};
  const auto x = promoted(call.build, given);
  return where(condition, x[0], x[1]);
}

Results masked_fill(Call& call) {
  const Ref x = call.tensor("self");
  return where(call.tensor("mask"), operand(call.build, call.datum("value"), x.dtype()), x);
}

Results prelu(Call& call) {
  const Ref x = call.tensor("self");
  Ref weight = call.tensor("weight");
  Shape shape(x.rank(), Dim(1));
  if (x.rank() > 1) shape[1] = numel(weight.shape());
  weight = reshape(weight, x.rank() > 1 ? shape : Shape(x.rank(), Dim(1)));
  return apply(Prelu{}, {x, weight});
}

Results glu(Call& call) {
  const Ref x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", x.rank(), -1);
  const Dim size = x.shape()[static_cast<std::size_t>(axis)];
  const Dim half = floor_div(size, 2);
  return slice(x, axis, 0, half) * sigmoid(slice(x, axis, half, size));
}

/// The operand as floats.
Ref real(Call& call, std::string_view argument = "self") {
  const Ref x = call.tensor(argument);
  return is_float(x.dtype()) ? x : cast(DType::f32, x);
}

Results round_op(Call& call) {
  const std::int64_t decimals = call.integer("decimals", 0);
  const Ref x = call.tensor("self");
  if (decimals == 0) return is_float(x.dtype()) ? round(x) : x;
  const double scale = std::pow(10.0, static_cast<double>(decimals < 0 ? -decimals : decimals));
  return decimals < 0 ? round(x / scale) * scale : round(x * scale) / scale;
}

/// Floor, ceil and trunc leave integers alone.
template <class Op>
Results rounded(Call& call) {
  const Ref x = call.tensor("self");
  return is_float(x.dtype()) ? apply(Op{}, {x}) : x;
}

Results frac(Call& call) {
  const Ref x = call.tensor("self");
  return x - trunc(x);
}
Results logit(Call& call) {
  Ref x = real(call);
  if (call.has("eps")) x = apply(Clamp{.min = call.number("eps"), .max = 1 - call.number("eps")}, {x});
  return log(x / (1.0 - x));
}
Results logaddexp(Call& call) {
  const std::array given = {call.datum("self"), call.datum("other")};
  const auto x = promoted(call.build, given);
  const Ref sum = maximum(x[0], x[1]) + log1p(exp(-abs(x[0] - x[1])));
  return where(equal(x[0], x[1]), x[0] + x[0].literal(0.6931471805599453), sum);
}
Results logaddexp2(Call& call) {
  const std::array given = {call.datum("self"), call.datum("other")};
  const auto x = promoted(call.build, given);
  const Ref sum = maximum(x[0], x[1]) + log2(exp2(-abs(x[0] - x[1])) + 1.0);
  return where(equal(x[0], x[1]), x[0] + 1.0, sum);
}
template <int sign>
Results is_infinity(Call& call) {
  const Ref x = real(call);
  return equal(x, x.literal(sign * std::numeric_limits<double>::infinity()));
}
Results heaviside(Call& call) {
  const std::array given = {call.datum("self"), call.datum("values")};
  const auto x = promoted(call.build, given);
  const Ref zero = x[0].literal(0);
  return where(equal(x[0], zero), x[1], where(x[0] > zero, x[0].literal(1), zero));
}
Results deg2rad(Call& call) { return real(call) * (std::numbers::pi / 180); }
Results rad2deg(Call& call) { return real(call) * (180 / std::numbers::pi); }
Results xlogy(Call& call) {
  const std::array given = {call.datum("self"), call.datum("other")};
  const auto x = promoted(call.build, given, true);
  const Ref zero = x[0].literal(0);
  return where(apply(IsNan{}, {x[1]}), x[1], where(equal(x[0], zero), zero, x[0] * log(x[1])));
}
Results nan_to_num(Call& call) {
  const Ref x = call.tensor("self");
  if (!is_float(x.dtype())) return x;
  const double largest = largest_number(x.dtype());
  const Ref low = x.literal(call.number("neginf", -largest));
  const Ref high = x.literal(call.number("posinf", largest));
  const Ref infinity = x.literal(std::numeric_limits<double>::infinity());
  Ref y = where(apply(IsNan{}, {x}), x.literal(call.number("nan", 0)), x);
  y = where(equal(y, infinity), high, y);
  return where(equal(y, -infinity), low, y);
}
Results float_power(Call& call) {
  std::array given = {call.datum("self"), call.datum("exponent")};
  return apply(Pow{}, {operand(call.build, given[0], DType::f64), operand(call.build, given[1], DType::f64)});
}
Results isclose(Call& call) {
  const std::array given = {call.datum("self"), call.datum("other")};
  const auto x = promoted(call.build, given, true);
  const Ref near = abs(x[0] - x[1]) <= abs(x[1]) * call.number("rtol", 1e-5) + call.number("atol", 1e-8);
  const Ref finite = apply(IsFinite{}, {x[0] - x[1]});
  Ref close = logical_or(equal(x[0], x[1]), logical_and(near, finite));
  if (call.flag("equal_nan", false)) {
    close = logical_or(close, logical_and(apply(IsNan{}, {x[0]}), apply(IsNan{}, {x[1]})));
  }
  return close;
}
/// pi for negative numbers, 0 for the others, NaN for NaN.
Results angle(Call& call) {
  const Ref x = real(call);
  const Ref of_number = where(x < x.literal(0), x.literal(std::numbers::pi), x.literal(0));
  return where(apply(IsNan{}, {x}), x, of_number);
}
Results isreal(Call& call) {
  return full(call.tensor("self").shape(), 1, DType::boolean, call.build.place());
}
/// x / 2^e, in two steps: 2^-e alone may be too large.
Ref without_exponent(const Ref& x, const Ref& e) {
  const Ref half = trunc(e * 0.5);
  return x * exp2(-half) * exp2(half - e);
}
/// x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1.
Results frexp(Call& call) {
  const Ref x = call.tensor("self");
  if (!is_float(x.dtype())) throw error("frexp of {} numbers", name(x.dtype()));
  const Ref wide = cast(DType::f64, x);
  const Ref plain = logical_and(apply(IsFinite{}, {wide}), not_equal(wide, wide.literal(0)));
  const Ref size = where(plain, abs(wide), 1);
  const Ref guess = floor(apply(Log2{}, {size}));
  const Ref scaled = without_exponent(size, guess);  // the logarithm may be off by one at powers of two
  const Ref above = where(scaled >= scaled.literal(2), guess + 1.0, guess);
  const Ref exponent = where(scaled < scaled.literal(1), guess - 1.0, above) + 1.0;
  const Ref mantissa = where(plain, without_exponent(wide, exponent), wide);
  return std::vector{cast(x.dtype(), mantissa), cast(DType::i32, where(plain, exponent, 0))};
}
/// Whether each element is among the others.
Results isin(Call& call) {
  const std::array given = {call.datum(call.find("elements") ? "elements" : "element"),
                            call.datum(call.find("test_elements") ? "test_elements" : "test_element")};
  call.ignore({"assume_unique"});
  const auto x = promoted(call.build, given);
  Shape column = x[0].shape();
  column.push_back(Dim(1));
  const Ref same = equal(reshape(x[0], column), reshape(x[1], {numel(x[1].shape())}));
  const Ref found = any(same, {static_cast<std::int64_t>(x[0].rank())});
  return call.flag("invert", false) ? logical_not(found) : found;
}

Results relu(Call& call) { return tenon::relu(call.tensor("self")); }
Results handed_through(Call& call) { return call.datum("self"); }

constexpr Entry entries[] = {
    {"add", add},
    {"sub", sub},
    {"subtract", sub},
    {"rsub", rsub},
    {"mul", mul},
    {"multiply", mul},
    {"div", div},
    {"divide", div},
    {"true_divide", div},
    {"floor_divide", floor_divide},
    {"remainder", remainder},
    {"neg", neg},
    {"negative", neg},
    {"positive", handed_through},
    {"conj_physical", handed_through},
    {"angle", angle},
    {"isreal", isreal},
    {"frexp", frexp},
    {"isin", isin},
    {"minimum", smaller},
    {"maximum", larger},
    {"min.other", smaller},
    {"max.other", larger},
    {"pow", pow},
    {"nextafter", nextafter},
    {"float_power", float_power},
    {"square", square},
    {"clamp", clamp},
    {"clip", clamp},
    {"clamp_min", clamp_min},
    {"clamp_max", clamp_max},
    {"hardtanh", hardtanh},
    {"relu", relu},
    {"relu6", relu6},
    {"addcmul", addcmul, Halves::in_f32},
    {"addcdiv", addcdiv, Halves::in_f32},
    {"lerp", lerp, Halves::in_f32},
    {"where", where_op},
    {"masked_fill", masked_fill},
    {"prelu", prelu},
    {"glu", glu, Halves::in_f32},
    {"round", round_op, Halves::in_f32},
    {"floor", rounded<Floor>},
    {"ceil", rounded<Ceil>},
    {"trunc", rounded<Trunc>},
    {"fix", rounded<Trunc>},
    {"frac", frac},
    {"logit", logit, Halves::in_f32},
    {"special_logit", logit, Halves::in_f32},
    {"logaddexp", logaddexp, Halves::in_f32},
    {"logaddexp2", logaddexp2, Halves::in_f32},
    {"isposinf", is_infinity<1>},
    {"isneginf", is_infinity<-1>},
    {"heaviside", heaviside},
    {"deg2rad", deg2rad, Halves::in_f32},
    {"rad2deg", rad2deg, Halves::in_f32},
    {"xlogy", xlogy, Halves::in_f32},
    {"special_xlogy", xlogy, Halves::in_f32},
    {"nan_to_num", nan_to_num},
    {"isclose", isclose},
};

}  // namespace

std::span<const Entry> arithmetic_entries() { return entries; }

}  // namespace tenon::converter
