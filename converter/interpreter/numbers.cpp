#include "converter/interpreter/numbers.h"

#include <unordered_map>

#include "base/error.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/shape.h"

namespace tenon::converter {

namespace {

using Binary = Ref (*)(const Ref&, const Ref&);
using Unary = Ref (*)(const Ref&);

Ref floor_divided(const Ref& a, const Ref& b) { return apply(FloorDiv{}, {a, b}); }
Ref remainder_of(const Ref& a, const Ref& b) { return apply(Remainder{}, {a, b}); }
Ref fmod_of(const Ref& a, const Ref& b) { return apply(Fmod{}, {a, b}); }

/// On two ints, or two floats.
const std::unordered_map<std::string_view, Binary>& arithmetic() {
  static const std::unordered_map<std::string_view, Binary> all = {
      {"add", [](const Ref& a, const Ref& b) { return a + b; }},
      {"sub", [](const Ref& a, const Ref& b) { return a - b; }},
      {"mul", [](const Ref& a, const Ref& b) { return a * b; }},
      {"floordiv", floor_divided},
      {"floor_divide", floor_divided},
      {"remainder", remainder_of},
      {"mod", remainder_of},
      {"fmod", fmod_of},
      {"min", [](const Ref& a, const Ref& b) { return minimum(a, b); }},
      {"max", [](const Ref& a, const Ref& b) { return maximum(a, b); }},
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

/// On a float, giving a float.
const std::unordered_map<std::string_view, Unary>& functions() {
  static const std::unordered_map<std::string_view, Unary> all = {
      {"sqrt", [](const Ref& x) { return sqrt(x); }},   {"exp", [](const Ref& x) { return exp(x); }},
      {"log", [](const Ref& x) { return log(x); }},     {"log2", [](const Ref& x) { return log2(x); }},
      {"log10", [](const Ref& x) { return log10(x); }}, {"log1p", [](const Ref& x) { return log1p(x); }},
      {"sin", [](const Ref& x) { return sin(x); }},     {"cos", [](const Ref& x) { return cos(x); }},
      {"tan", [](const Ref& x) { return tan(x); }},     {"tanh", [](const Ref& x) { return tanh(x); }},
  };
  return all;
}

Ref to_float(const Ref& x) { return cast(DType::f64, x); }

/// Two operands as ints, or as floats when one of them is.
std::pair<Ref, Ref> met(Builder& build, const Datum& a, const Datum& b) {
  Ref x = number_value(build, a), y = number_value(build, b);
  if (x.dtype() == y.dtype()) return {x, y};
  return {to_float(x), to_float(y)};
}

Datum as_datum(Builder& build, const Ref& value) { return Datum(build.python_number(value)); }

std::string words(const Datum& d) {
  if (const auto* dim = d.get<Dim>()) return dim->str();
  if (const auto* x = d.get<double>()) return fmt::format("{}", *x);
  if (const auto* flag = d.get<bool>()) return *flag ? "True" : "False";
  if (const auto* u = d.get<Undecided>()) return u->why;
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
Datum range_length(Builder& build, std::span<const Datum> in) {
  const auto* step = in[2].get<Dim>();
  if (!step || !step->is_known()) throw unsupported("range() with a step that is not known");
  if (step->value() == 0) throw error("range() with a step of 0");
  const Ref low = number_value(build, in[0]), high = number_value(build, in[1]);
  const Ref span = step->value() > 0 ? high - low : low - high;
  const std::int64_t size = std::abs(step->value());
  const Ref count =
      size == 1 ? span : floor_divided(span + static_cast<double>(size - 1), build.literal(size, DType::i64));
  return as_datum(build, maximum(count, build.literal(std::int64_t{0}, DType::i64)));
}

}  // namespace

bool is_unknown_scalar(const Datum& d) {
  const auto* tensor = d.get<TensorPtr>();
  return d.is<Undecided>() || (tensor && (*tensor)->is_scalar);
}
bool is_python_scalar(const Datum& d) { return d.is_number() || is_unknown_scalar(d); }

Ref number_value(Builder& build, const Datum& d) {
  if (const auto* dim = d.get<Dim>()) return build.size(*dim);
  if (const auto* x = d.get<double>()) return build.literal(*x, DType::f64);
  if (d.is<bool>() || d.is<Undecided>()) return cast(DType::i64, condition_value(build, d));
  if (const auto* t = d.get<TensorPtr>()) {
    const Ref x = build.read(*t);
    return cast(is_float(x.dtype()) ? DType::f64 : DType::i64, x);
  }
  throw unsupported("{} where a number is needed", kind_name(d));
}

Ref condition_value(Builder& build, const Datum& d) {
  if (const auto* flag = d.get<bool>()) return build.literal(std::int64_t{*flag}, DType::boolean);
  if (const auto* u = d.get<Undecided>()) {
    if (!u->of) throw unsupported("{}, which is not known before the model runs", u->why);
    return comparison_value(build, *u->of);
  }
  return not_equal(number_value(build, d), build.literal(std::int64_t{0}, DType::i64));
}

std::optional<Datum> run_unknown_scalar(Builder& build, std::string_view name, std::span<const Datum> in) {
  if (in.size() == 2) {
    if (const auto it = arithmetic().find(name); it != arithmetic().end()) {
      const auto [x, y] = met(build, in[0], in[1]);
      return as_datum(build, it->second(x, y));
    }
    if (comparisons().contains(name))
      return Datum(undecided(fmt::format("{} {} {}", words(in[0]), name, words(in[1])), std::string(name),
                             {in[0], in[1]}));
    const Ref x = to_float(number_value(build, in[0])), y = to_float(number_value(build, in[1]));
    if (name == "div" || name == "truediv") return as_datum(build, x / y);
    if (name == "pow") return as_datum(build, pow(x, y));
    return std::nullopt;
  }
  if (name == "__range_length") return range_length(build, in);
  if (name == "__derive_index")
    return as_datum(build,
                    number_value(build, in[0]) * number_value(build, in[2]) + number_value(build, in[1]));
  if (in.size() != 1) return std::nullopt;
  if (name == "Bool") return Datum(undecided(words(in[0]), "truth", {in[0]}));
  const Ref x = number_value(build, in[0]);
  if (name == "neg") return as_datum(build, -x);
  if (name == "abs") return as_datum(build, abs(x));
  if (name == "ScalarImplicit") return as_datum(build, x);
  if (name == "Float" || name == "FloatImplicit") return as_datum(build, to_float(x));
  if (name == "Int" || name == "IntImplicit") return as_datum(build, cast(DType::i64, x));
  if (name == "floor" || name == "ceil")
    return as_datum(build, is_float(x.dtype()) ? cast(DType::i64, name == "floor" ? floor(x) : ceil(x)) : x);
  if (const auto it = functions().find(name); it != functions().end())
    return as_datum(build, it->second(to_float(x)));
  return std::nullopt;
}

Datum python_scalar(Builder& build, const TensorPtr& t) {
  Ref x = build.read(t);
  if (numel(x.shape()) != Dim(1))
    throw error("a tensor of {} elements where one element is needed", numel(x.shape()).str());
  if (is_complex(x.dtype())) throw unsupported("complex numbers");
  x = reshape(x, {});
  if (is_bool(x.dtype())) return Datum(undecided("the data of a tensor", "truth", {Datum(build.tensor(x))}));
  return Datum(build.python_number(cast(is_float(x.dtype()) ? DType::f64 : DType::i64, x)));
}

}  // namespace tenon::converter
