// Pointwise operators that are not one operator here: alpha, rounding modes, Python numbers, bounds.
#include "ir/ops/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "converter/aten/half_precision.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/ops/activation.h"
#include "ir/ops/functions.h"
#include "ir/ops/math.h"
#include "ir/ops/sort.h"
#include "ir/ops/working_dtype.h"

namespace tenon::converter {

namespace {

/// The integer that an operand is known to be: an int, or a rank-0 i64 such as a size in a traced model.
std::optional<Dim> known_integer(Builder& build, const AbstractValue& d) {
  if (const auto* dim = d.get<Dim>()) return *dim;
  const auto* t = d.get<TensorPtr>();
  if (!t || (*t)->dtype() != DType::i64) return std::nullopt;
  const auto number = build.known_number(*t);
  return number && number->is<Dim>() ? std::optional(*number->get<Dim>()) : std::nullopt;
}

using IntegerRule = std::function<Dim(const Dim&, const Dim&)>;

/// Sizes stay sizes: a traced model computes them as rank-0 tensors.
std::optional<Results> on_integers(Builder& build, const AbstractValue& a, const AbstractValue& b,
                                   const IntegerRule& rule) {
  const auto x = known_integer(build, a);
  const auto y = known_integer(build, b);
  if (!x || !y) return std::nullopt;
  return Results(build.number(rule(*x, *y)));
}

/// The right operand as PyTorch's executor sees it: a rank-0 constant of the code is a Python number.
AbstractValue right_operand(Call& call, std::string_view argument) {
  const AbstractValue& d = call.value(argument);
  const auto* t = d.get<TensorPtr>();
  return t && (*t)->constant ? *(*t)->constant : d;
}

Ref times(const Ref& x, const AbstractValue& factor, Builder& build) {
  const auto* known = factor.get<Dim>();
  if (known && *known == Dim(1)) return x;
  if (const auto* real = factor.get<double>()) {
    if (*real == 1) return x;
    if (!is_float(x.dtype())) throw error("a float factor (alpha) for integer tensors");
  }
  return x * build.literal(factor, x.dtype());
}

AbstractValue alpha_of(Call& call) {
  return call.has("alpha") ? right_operand(call, "alpha") : AbstractValue(Dim(1));
}

Results add(Call& call) {
  const std::array given = {call.value("self"), right_operand(call, "other")};
  const AbstractValue alpha = alpha_of(call);
  if (const auto* factor = alpha.get<Dim>()) {
    const auto sum = [&](const Dim& a, const Dim& b) { return a + *factor * b; };
    if (auto result = on_integers(call.build, given[0], given[1], sum)) return *result;
  }
  const auto x = promoted(call.build, given);
  if (is_bool(x[0].dtype())) return logical_or(x[0], x[1]);
  return x[0] + times(x[1], alpha, call.build);
}

Results subtract(Call& call, const AbstractValue& from, const AbstractValue& what) {
  const AbstractValue alpha = alpha_of(call);
  if (const auto* factor = alpha.get<Dim>()) {
    const auto difference = [&](const Dim& a, const Dim& b) { return a - *factor * b; };
    if (auto result = on_integers(call.build, from, what, difference)) return *result;
  }
  const std::array given = {from, what};
  const auto x = promoted(call.build, given);
  if (is_bool(x[0].dtype())) throw error("subtraction of bool tensors").hint("use logical_xor");
  return x[0] - times(x[1], alpha, call.build);
}

Results sub(Call& call) { return subtract(call, call.value("self"), right_operand(call, "other")); }
Results rsub(Call& call) { return subtract(call, call.value("other"), call.value("self")); }

/// Float16 holds neither this number nor one close to it. PyTorch multiplies and divides by numbers in
/// float32.
bool meets_number_beyond_f16(std::span<const AbstractValue> operands) {
  constexpr double least_normal = 0x1p-14, largest = 65504;
  const bool is_beyond = std::any_of(operands.begin(), operands.end(), [&](const AbstractValue& d) {
    const double size = std::abs(known_real(d).value_or(0));
    return size > largest ? std::isfinite(size) : size != 0 && size < least_normal;
  });
  return is_beyond && result_type(operands) == DType::f16;
}

Results mul(Call& call) {
  const std::array given = {call.value("self"), right_operand(call, "other")};
  if (meets_number_beyond_f16(given)) return run_in_f32(mul, call);
  const auto product = [](const Dim& a, const Dim& b) { return a * b; };
  if (auto result = on_integers(call.build, given[0], given[1], product)) return *result;
  const auto x = promoted(call.build, given);
  if (is_bool(x[0].dtype())) return logical_and(x[0], x[1]);
  return x[0] * x[1];
}

Results floor_divide(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  const auto rule = [](const Dim& a, const Dim& b) { return floor_div(a, b); };
  if (auto result = on_integers(call.build, given[0], given[1], rule)) return *result;
  return tenon::apply(FloorDiv{}, promoted(call.build, given));
}

Results div(Call& call) {
  const std::string rounding = call.word("rounding_mode", "");
  const AbstractValue& other = call.value("other");
  const std::array given = {call.value("self"), rounding.empty() ? right_operand(call, "other") : other};
  if (rounding.empty() && meets_number_beyond_f16(given)) return run_in_f32(div, call);
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
  const std::array given = {call.value("self"), call.value("other")};
  const auto rule = [](const Dim& a, const Dim& b) { return mod(a, b); };
  if (auto result = on_integers(call.build, given[0], given[1], rule)) return *result;
  return tenon::apply(Remainder{}, promoted(call.build, given));
}

Results neg(Call& call) {
  const AbstractValue& x = call.value("self");
  if (const auto known = known_integer(call.build, x)) return call.build.number(-*known);
  return -call.tensor("self");
}

Results smaller(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  const auto rule = [](const Dim& a, const Dim& b) { return min(a, b); };
  if (auto result = on_integers(call.build, given[0], given[1], rule)) return *result;
  return tenon::apply(Minimum{}, promoted(call.build, given));
}

Results larger(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  const auto rule = [](const Dim& a, const Dim& b) { return max(a, b); };
  if (auto result = on_integers(call.build, given[0], given[1], rule)) return *result;
  return tenon::apply(Maximum{}, promoted(call.build, given));
}

// In the type of what is clamped: a negative one of bytes wraps around, as PyTorch's does.
double bound_of(Call& call, std::string_view name, DType dtype) {
  const double bound = call.number(name);
  return dtype == DType::u8 && bound < 0 ? bound + 256 : bound;
}

Results clamp_between(Call& call, std::string_view low, std::string_view high) {
  std::vector<AbstractValue> given = {call.value("self")};
  const bool has_low = call.has(low);
  const bool has_high = call.has(high);
  if (has_low) given.push_back(call.value(low));
  if (has_high) given.push_back(call.value(high));
  if (given.size() == 1) throw error("clamp without a bound");
  const DType dtype = result_type(given);
  const Ref x = operand(call.build, given[0], dtype);
  bool numbers = true;
  for (std::size_t i = 1; i < given.size(); ++i) {
    const auto* whole = given[i].get<Dim>();
    const bool is_exact = !whole || !whole->is_known() || fits_double(whole->value());
    numbers &= known_real(given[i]).has_value() && is_exact;
  }
  if (numbers) {
    Clamp op;
    if (has_low) op.min = bound_of(call, low, dtype);
    if (has_high) op.max = bound_of(call, high, dtype);
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
  const std::array given = {call.value("self"), call.value(b), call.value(c)};
  return promoted(call.build, given);
}
AbstractValue value_of(Call& call) { return call.has("value") ? call.value("value") : AbstractValue(Dim(1)); }

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
  const std::array given = {call.value("self"), call.value("end"), call.value("weight")};
  const auto x = promoted(call.build, given);
  const Ref way = x[1] - x[0], from_end = x[2] - 1.0;
  if (const auto known = known_real(given[2]))
    return std::abs(*known) < 0.5 ? x[0] + way * x[2] : x[1] + way * from_end;
  const Ref starts = abs(x[2]) < x[2].literal(0.5);
  return where(starts, x[0], x[1]) + way * where(starts, x[2], from_end);
}

Results where_op(Call& call) {
  if (!call.find("self")) return list_of_places(call.build, call.tensor("condition"));
  Ref condition = call.tensor("condition");
  if (!is_bool(condition.dtype())) condition = not_equal(condition, condition.literal(0));
  const std::array given = {call.value("self"), call.value("other")};
  const auto x = promoted(call.build, given);
  return where(condition, x[0], x[1]);
}

Results masked_fill(Call& call) {
  const Ref x = call.tensor("self");
  return where(call.tensor("mask"), operand(call.build, call.value("value"), x.dtype()), x);
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
Results heaviside(Call& call) {
  const std::array given = {call.value("self"), call.value("values")};
  const auto x = promoted(call.build, given);
  const Ref zero = x[0].literal(0);
  return where(equal(x[0], zero), x[1], where(x[0] > zero, x[0].literal(1), zero));
}
/// Whether each element of x is among the others, which are of its dtype: compared with each of a few, or
/// looked for among them in order.
Ref is_among(const Ref& x, const Ref& others) {
  constexpr std::int64_t few = 256;
  const Dim count = numel(others.shape());
  const Ref row = reshape(others, {count});
  const bool are_many = count.is_known() ? count.value() > few : count.range().min.value_or(0) > 0;
  if (!are_many || is_bool(x.dtype()) || is_complex(x.dtype())) {
    Shape column = x.shape();
    column.push_back(Dim(1));
    return any(equal(reshape(x, column), row), {static_cast<std::int64_t>(x.rank())});
  }
  const Ref sorted = apply_all(Sort{.axis = 0, .stable = false}, std::array{row})[0];
  const Shape line = {numel(x.shape())};
  const Ref place = apply(SearchSorted{}, {sorted, reshape(x, line)});
  const Ref last = dim_value(count, place) - 1.0;
  const Ref found = index_select(sorted, 0, maximum(minimum(place, last), place.literal(0)));
  return equal(reshape(found, x.shape()), x);
}
Results isin(Call& call) {
  const std::array given = {call.value(call.find("elements") ? "elements" : "element"),
                            call.value(call.find("test_elements") ? "test_elements" : "test_element")};
  call.ignore({"assume_unique"});
  const auto x = promoted(call.build, given);
  const Ref found = is_among(x[0], x[1]);
  return call.flag("invert", false) ? logical_not(found) : found;
}

Results relu(Call& call) { return tenon::relu(call.tensor("self")); }
Results handed_through(Call& call) { return call.value("self"); }

constexpr AtenEntry arithmetic_table[] = {
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
    {"isin", isin},
    {"minimum", smaller},
    {"maximum", larger},
    {"min.other", smaller},
    {"max.other", larger},
    {"clamp", clamp},
    {"clip", clamp},
    {"clamp_min", clamp_min},
    {"clamp_max", clamp_max},
    {"hardtanh", hardtanh},
    {"relu", relu},
    {"relu6", relu6},
    {"addcmul", addcmul, HalfPrecision::in_f32},
    {"addcdiv", addcdiv, HalfPrecision::in_f32},
    {"lerp", lerp, HalfPrecision::in_f32},
    {"where", where_op},
    {"masked_fill", masked_fill},
    {"prelu", prelu},
    {"glu", glu, HalfPrecision::in_f32},
    {"round", round_op, HalfPrecision::in_f32},
    {"floor", rounded<Floor>},
    {"ceil", rounded<Ceil>},
    {"trunc", rounded<Trunc>},
    {"fix", rounded<Trunc>},
    {"frac", frac},
    {"heaviside", heaviside},
};

}  // namespace

std::span<const AtenEntry> arithmetic_entries() { return arithmetic_table; }

}  // namespace tenon::converter
