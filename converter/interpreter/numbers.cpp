#include "converter/interpreter/numbers.h"

#include <algorithm>
#include <numbers>
#include <unordered_map>

#include "base/error.h"
#include "converter/interpreter/scalars.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"

namespace tenon::converter {

namespace {

using Binary = Ref (*)(const Ref&, const Ref&);
using Unary = Ref (*)(const Ref&);

template <class Op>
Ref applied(const Ref& a, const Ref& b) {
  return apply(Op{}, {a, b});
}

/// On two ints, or two floats.
const std::unordered_map<std::string_view, Binary>& arithmetic() {
  static const std::unordered_map<std::string_view, Binary> all = {
      {"add", [](const Ref& a, const Ref& b) { return a + b; }},
      {"sub", [](const Ref& a, const Ref& b) { return a - b; }},
      {"mul", [](const Ref& a, const Ref& b) { return a * b; }},
      {"floordiv", applied<FloorDiv>},
      {"floor_divide", applied<FloorDiv>},
      {"remainder", applied<Remainder>},
      {"mod", applied<Remainder>},
      {"min", applied<Minimum>},
      {"max", applied<Maximum>},
  };
  return all;
}

/// On two ints.
const std::unordered_map<std::string_view, Binary>& integer_functions() {
  static const std::unordered_map<std::string_view, Binary> all = {
      {"__and__", applied<BitAnd>},        {"__or__", applied<BitOr>},
      {"__xor__", applied<BitXor>},        {"__lshift__", applied<ShiftLeft>},
      {"__rshift__", applied<ShiftRight>}, {"__round_to_zero_floordiv", applied<TruncDiv>},
      {"pow.int_to_int", applied<Pow>},
  };
  return all;
}

/// On two floats.
const std::unordered_map<std::string_view, Binary>& real_functions() {
  static const std::unordered_map<std::string_view, Binary> all = {
      {"div", applied<Div>},
      {"truediv", applied<Div>},
      {"pow", applied<Pow>},
      {"fmod", applied<Fmod>},
      {"atan2", applied<Atan2>},
      {"copysign", applied<Copysign>},
      {"log", [](const Ref& a, const Ref& b) { return log(a) / log(b); }},
  };
  return all;
}

const std::unordered_map<std::string_view, Binary>& comparisons() {
  static const std::unordered_map<std::string_view, Binary> all = {
      {"lt", [](const Ref& a, const Ref& b) { return a < b; }},
      {"le", [](const Ref& a, const Ref& b) { return a <= b; }},
      {"gt", [](const Ref& a, const Ref& b) { return a > b; }},
      {"ge", [](const Ref& a, const Ref& b) { return a >= b; }},
      {"eq", [](const Ref& a, const Ref& b) { return equal(a, b); }},
      {"ne", [](const Ref& a, const Ref& b) { return not_equal(a, b); }},
  };
  return all;
}

template <class Op>
Ref of_one(const Ref& x) {
  return apply(Op{}, {x});
}

/// On a float, giving a float.
const std::unordered_map<std::string_view, Unary>& unary_functions() {
  static const std::unordered_map<std::string_view, Unary> all = {
      {"sqrt", of_one<Sqrt>},
      {"exp", of_one<Exp>},
      {"expm1", of_one<Expm1>},
      {"log", of_one<Log>},
      {"log2", of_one<Log2>},
      {"log10", of_one<Log10>},
      {"log1p", of_one<Log1p>},
      {"sin", of_one<Sin>},
      {"cos", of_one<Cos>},
      {"tan", of_one<Tan>},
      {"asin", of_one<Asin>},
      {"acos", of_one<Acos>},
      {"atan", of_one<Atan>},
      {"sinh", of_one<Sinh>},
      {"cosh", of_one<Cosh>},
      {"tanh", of_one<Tanh>},
      {"asinh", of_one<Asinh>},
      {"acosh", of_one<Acosh>},
      {"atanh", of_one<Atanh>},
      {"erf", of_one<Erf>},
      {"erfc", of_one<Erfc>},
      {"lgamma", of_one<Lgamma>},
      {"fabs", of_one<Abs>},
      {"round", of_one<Round>},
      {"degrees", [](const Ref& x) { return x * (180 / std::numbers::pi); }},
      {"radians", [](const Ref& x) { return x * (std::numbers::pi / 180); }},
  };
  return all;
}

/// Tests of a float.
const std::unordered_map<std::string_view, Unary>& tests() {
  static const std::unordered_map<std::string_view, Unary> all = {
      {"isnan", of_one<IsNan>},
      {"isinf", of_one<IsInf>},
      {"isfinite", of_one<IsFinite>},
  };
  return all;
}

Ref to_float(const Ref& x) { return cast(DType::f64, x); }

/// Two operands as ints, or as floats when one of them is.
std::pair<Ref, Ref> met(Builder& build, const AbstractValue& a, const AbstractValue& b) {
  Ref x = number_value(build, a), y = number_value(build, b);
  if (x.dtype() == y.dtype()) return {x, y};
  return {to_float(x), to_float(y)};
}

AbstractValue as_value(Builder& build, const Ref& value) { return AbstractValue(build.python_number(value)); }

std::string words(const AbstractValue& d) {
  if (const auto* dim = d.get<Dim>()) return dim->str();
  if (const auto* x = d.get<double>()) return fmt::format("{}", *x);
  if (const auto* flag = d.get<bool>()) return *flag ? "True" : "False";
  if (const auto* u = d.get<SymbolicBool>()) return u->why;
  return "the data of a tensor";
}

Ref comparison_value(Builder& build, const Comparison& c) {
  const auto& in = c.operands;
  if (c.op == "not") return logical_not(condition_value(build, in[0]));
  if (c.op == "and") return logical_and(condition_value(build, in[0]), condition_value(build, in[1]));
  if (c.op == "or") return logical_or(condition_value(build, in[0]), condition_value(build, in[1]));
  if (c.op == "truth") {
    const Ref x = in[0].is_tensor() ? build.read(*in[0].get<TensorPtr>()) : number_value(build, in[0]);
    return is_bool(x.dtype()) ? x : not_equal(x, x.literal(0));
  }
  const auto [x, y] = met(build, in[0], in[1]);
  return comparisons().at(c.op)(x, y);
}

/// range(low, high, step): how many steps.
AbstractValue range_length(Builder& build, std::span<const AbstractValue> in) {
  const auto* known = in[2].get<Dim>();
  if (known && known->is_known() && known->value() == 0) throw error("range() with a step of 0");
  const Ref low = number_value(build, in[0]), high = number_value(build, in[1]);
  const Ref step = number_value(build, in[2]);
  const Ref count = applied<FloorDiv>(high - low + step - sign(step), step);
  return as_value(build, maximum(count, build.literal(std::int64_t{0}, DType::i64)));
}

}  // namespace

bool is_unknown_scalar(const AbstractValue& d) {
  const auto* tensor = d.get<TensorPtr>();
  return d.is<SymbolicBool>() || (tensor && (*tensor)->is_scalar);
}
bool is_python_scalar(const AbstractValue& d) { return d.is_number() || is_unknown_scalar(d); }

Ref number_value(Builder& build, const AbstractValue& d) {
  if (const auto* dim = d.get<Dim>()) return build.size(*dim);
  if (const auto* x = d.get<double>()) return build.literal(*x, DType::f64);
  if (d.is<bool>() || d.is<SymbolicBool>()) return cast(DType::i64, condition_value(build, d));
  if (const auto* t = d.get<TensorPtr>()) {
    const Ref x = build.read(*t);
    return cast(is_float(x.dtype()) ? DType::f64 : DType::i64, x);
  }
  throw unsupported("{} where a number is needed", kind_name(d));
}

Ref condition_value(Builder& build, const AbstractValue& d) {
  if (const auto* flag = d.get<bool>()) return build.literal(std::int64_t{*flag}, DType::boolean);
  if (const auto* u = d.get<SymbolicBool>()) {
    if (!u->of) throw unsupported("{}, which is not known before the model runs", u->why);
    return comparison_value(build, *u->of);
  }
  return not_equal(number_value(build, d), build.literal(std::int64_t{0}, DType::i64));
}

namespace {

std::optional<AbstractValue> run_binary(Builder& build, std::string_view name, std::string_view overload,
                                        std::span<const AbstractValue> in) {
  if (const auto it = arithmetic().find(name); it != arithmetic().end()) {
    const auto [x, y] = met(build, in[0], in[1]);
    return as_value(build, it->second(x, y));
  }
  if (comparisons().contains(name))
    return AbstractValue(symbolic_bool(fmt::format("{} {} {}", words(in[0]), name, words(in[1])),
                                       std::string(name), {in[0], in[1]}));
  if (name == "divmod") {
    const auto [x, y] = met(build, in[0], in[1]);
    return tuple_of({as_value(build, applied<FloorDiv>(x, y)), as_value(build, applied<Remainder>(x, y))});
  }
  const Ref x = number_value(build, in[0]), y = number_value(build, in[1]);
  const std::string full = fmt::format("{}.{}", name, overload);
  for (const std::string_view key : {std::string_view(full), name})
    if (const auto it = integer_functions().find(key); it != integer_functions().end())
      return as_value(build, it->second(x, y));
  if (const auto it = real_functions().find(name); it != real_functions().end())
    return as_value(build, it->second(to_float(x), to_float(y)));
  return std::nullopt;
}

std::optional<AbstractValue> run_unary(Builder& build, std::string_view name, const AbstractValue& in) {
  if (name == "Bool") return AbstractValue(symbolic_bool(words(in), "truth", {in}));
  const Ref x = number_value(build, in);
  if (name == "neg") return as_value(build, -x);
  if (name == "abs") return as_value(build, abs(x));
  if (name == "ScalarImplicit") return as_value(build, x);
  if (name == "Float" || name == "FloatImplicit") return as_value(build, to_float(x));
  if (name == "Int" || name == "IntImplicit") return as_value(build, cast(DType::i64, x));
  if (name == "floor" || name == "ceil")
    return as_value(build, is_float(x.dtype()) ? cast(DType::i64, name == "floor" ? floor(x) : ceil(x)) : x);
  if (const auto it = unary_functions().find(name); it != unary_functions().end())
    return as_value(build, it->second(to_float(x)));
  if (const auto it = tests().find(name); it != tests().end())
    return AbstractValue(symbolic_bool(fmt::format("{}({})", name, words(in)), "truth",
                                       {AbstractValue(build.tensor(it->second(to_float(x))))}));
  return std::nullopt;
}

}  // namespace

std::optional<AbstractValue> run_unknown_scalar(Builder& build, std::string_view name,
                                                std::string_view overload,
                                                std::span<const AbstractValue> in) {
  if (in.size() == 2) return run_binary(build, name, overload, in);
  if (name == "__range_length") return range_length(build, in);
  if (name == "__derive_index")
    return as_value(build,
                    number_value(build, in[0]) * number_value(build, in[2]) + number_value(build, in[1]));
  return in.size() == 1 ? run_unary(build, name, in[0]) : std::nullopt;
}

std::optional<AbstractValue> run_any_scalar(Builder& build, std::string_view name, std::string_view overload,
                                            std::span<const AbstractValue> in) {
  if (!std::any_of(in.begin(), in.end(), holds_tensor))
    if (auto result = run_scalar(name, overload, in)) return result;
  if (!std::all_of(in.begin(), in.end(), is_python_scalar)) return std::nullopt;
  return run_unknown_scalar(build, name, overload, in);
}

std::optional<AbstractValue> run_unknown_list(Builder& build, std::string_view name,
                                              std::span<const AbstractValue> in) {
  const auto* items = in.size() == 1 ? items_of(in[0]) : nullptr;
  const bool is_one = items && !items->empty() &&
                      std::all_of(items->begin(), items->end(), is_python_scalar) &&
                      std::any_of(items->begin(), items->end(), is_unknown_scalar);
  if (!is_one) return std::nullopt;
  const bool is_logical = name == "any" || name == "all";
  if (!is_logical && name != "min" && name != "max" && name != "sum") return std::nullopt;
  const std::string_view joins = name == "any"   ? "__or__"
                                 : name == "all" ? "__and__"
                                 : name == "sum" ? "add"
                                                 : name;
  std::optional<AbstractValue> result;
  for (const AbstractValue& item : *items) {
    const auto next =
        is_logical ? run_any_scalar(build, "Bool", "", std::span(&item, 1)) : std::optional(item);
    if (!result || !next) {
      result = next;
      continue;
    }
    const std::array both = {*result, *next};
    result = run_any_scalar(build, joins, "", both);
  }
  return result;
}

AbstractValue python_scalar(Builder& build, const TensorPtr& t) {
  Ref x = build.read(t);
  const Dim count = numel(x.shape());
  const std::string why = fmt::format("a tensor of {} elements where one element is needed", count.str());
  if (count.is_known() && count != Dim(1)) throw error("{}", why);
  if (is_complex(x.dtype())) throw unsupported("complex numbers");
  if (!count.is_known()) {
    tenon::apply_all(Check{.message = why}, std::array{equal(build.size(count), build.size(Dim(1)))});
    x = index_select(reshape(x, {count}), 0, iota(Dim(1), build.insertion_point()));
  }
  x = reshape(x, {});
  if (is_bool(x.dtype()))
    return AbstractValue(symbolic_bool("the data of a tensor", "truth", {AbstractValue(build.tensor(x))}));
  return AbstractValue(build.python_number(cast(is_float(x.dtype()) ? DType::f64 : DType::i64, x)));
}

}  // namespace tenon::converter
