// Tensors made from sizes and numbers.
#include <cmath>

#include "base/error.h"
#include "compose/matrix.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "converter/interpreter/numbers.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/data_size.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

void ignore_place(Call& call) { call.ignore({"layout", "device", "pin_memory", "memory_format", "names"}); }

DType dtype_of_number(const AbstractValue& d) {
  if (d.is<bool>()) return DType::boolean;
  if (d.is<Dim>()) return DType::i64;
  if (d.is<SymbolicBool>()) return DType::boolean;
  if (const auto* t = d.get<TensorPtr>(); t && !is_float((*t)->dtype())) return (*t)->dtype();
  return DType::f32;
}

Ref filled(Call& call, Shape shape, const AbstractValue& value, DType dtype) {
  ignore_place(call);
  const auto* dim = value.get<Dim>();
  if (value.is<SymbolicBool>())
    return expand(cast(dtype, condition_value(call.build, value)), std::move(shape));
  if (value.is_tensor() || (dim && (!dim->is_known() || !fits_double(dim->value()))))
    return expand(operand(call.build, value, dtype), std::move(shape));
  const Ref literal = call.build.literal(value, dtype);
  return full(std::move(shape), literal.value()->tensor().get_double(), dtype, call.build.insertion_point());
}

template <int value>
Results constant(Call& call) {
  return filled(call, call.sizes("size"), AbstractValue(value), call.dtype("dtype").value_or(DType::f32));
}
Results full_op(Call& call) {
  const AbstractValue value = call.value("fill_value");
  return filled(call, call.sizes("size"), value, call.dtype("dtype").value_or(dtype_of_number(value)));
}
template <int value>
Results new_constant(Call& call) {
  const DType dtype = call.dtype("dtype").value_or(call.tensor_ptr("self")->dtype());
  return filled(call, call.sizes("size"), AbstractValue(value), dtype);
}
Results new_full(Call& call) {
  const DType dtype = call.dtype("dtype").value_or(call.tensor_ptr("self")->dtype());
  return filled(call, call.sizes("size"), call.value("fill_value"), dtype);
}
template <int value>
Results constant_like(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  return filled(call, x->shape(), AbstractValue(value), call.dtype("dtype").value_or(x->dtype()));
}
Results full_like(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  return filled(call, x->shape(), call.value("fill_value"), call.dtype("dtype").value_or(x->dtype()));
}

/// start + step * (0, 1, ...) up to end.
/// low, low + step, ... before high, for integers that the model computes.
Ref computed_range(Call& call, const Ref& low, const Ref& high, std::int64_t step) {
  const Ref span = step > 0 ? high - low : low - high;
  const Ref count = apply(FloorDiv{}, {span + static_cast<double>(std::abs(step) - 1),
                                       call.build.literal(std::abs(step), DType::i64)});
  const Ref i = call.build.sized(CountUp{}, {count})[0];
  return cast(call.dtype("dtype").value_or(DType::i64), i * static_cast<double>(step) + low);
}

/// arange of i64 cuts its bounds first; a whole float is an int in any case.
AbstractValue as_int(const AbstractValue& d, bool cut) {
  const auto* real = d.get<double>();
  if (!real || std::abs(*real) > 9e18 || (!cut && *real != std::trunc(*real))) return d;
  return AbstractValue(static_cast<std::int64_t>(*real));
}

Results arange(Call& call) {
  ignore_place(call);
  const bool any_real = (call.has("start") && call.value("start").is<double>()) ||
                        call.value("end").is<double>() ||
                        (call.has("step") && call.value("step").is<double>());
  const auto wanted = call.dtype("dtype");
  const DType of_ints = wanted.value_or(any_real ? DType::f32 : DType::i64);
  const auto bound = [&](const AbstractValue& d) { return as_int(d, of_ints == DType::i64); };
  const AbstractValue start = call.has("start") ? bound(call.value("start")) : AbstractValue(Dim(0));
  const AbstractValue end = bound(call.value("end"));
  const AbstractValue step = call.has("step") ? bound(call.value("step")) : AbstractValue(Dim(1));
  const auto to_dim = [&](const AbstractValue& d) -> std::optional<Dim> {
    if (const auto* dim = d.get<Dim>()) return *dim;
    const auto* t = d.get<TensorPtr>();
    const auto known = t ? call.build.known_number(*t) : std::nullopt;
    return known && known->is<Dim>() ? std::optional(*known->get<Dim>()) : std::nullopt;
  };
  auto a = to_dim(start), b = to_dim(end);
  const auto s = to_dim(step);
  const InsertionPoint& point = call.build.insertion_point();
  const auto is_computed_int = [&](const AbstractValue& d) {
    const auto* t = d.get<TensorPtr>();
    return t && is_integral((*t)->dtype());
  };
  const bool computed = (!a && is_computed_int(start)) || (!b && is_computed_int(end));
  if (computed && a == Dim(0) && s == Dim(1)) b = call.size("end");
  if (computed && !(a && b) && s && s->is_known() && s->value() != 0)
    return computed_range(call, number_value(call.build, start), number_value(call.build, end), s->value());
  if (a && b && s) {
    const DType dtype = of_ints;
    if (!s->is_known() || s->value() == 0) throw unsupported("arange with a step of {}", s->str());
    Dim count = s->value() > 0 ? ceil_div(*b - *a, *s) : ceil_div(*a - *b, -*s);
    if (known_less(count, Dim(0)).value_or(true)) count = max(count, Dim(0));
    Ref y = iota(count, point, dtype);
    if (*s != Dim(1)) y = y * call.build.literal(*s, dtype);
    if (*a != Dim(0)) y = y + call.build.literal(*a, dtype);
    return y;
  }
  const auto real = [&](std::string_view argument, double fallback) {
    return call.number(argument, fallback);
  };
  const double first = real("start", 0), last = real("end", 0), by = real("step", 1);
  const DType dtype = call.dtype("dtype").value_or(DType::f32);
  const double count = std::ceil((last - first) / by);
  if (std::isnan(count) || std::isinf(count)) throw error("arange from {} to {} by {}", first, last, by);
  const Dim size(static_cast<std::int64_t>(std::max(count, 0.0)));
  if (!is_float(dtype))  // PyTorch cuts start and step, after it has counted
    return cast(dtype, iota(size, point) * std::trunc(by) + std::trunc(first));
  return cast(dtype, iota(size, point, DType::f64) * by + first);
}

/// `steps` numbers from start to end in a float dtype. PyTorch counts the second half from the end.
Ref spaced(const Ref& start, const Ref& end, std::int64_t steps) {
  const InsertionPoint& point = start.insertion_point();
  if (steps == 1) return reshape(start, {Dim(1)});
  const double last = static_cast<double>(steps - 1);
  const Ref i = iota(Dim(steps), point, start.dtype());
  const Ref step = (end - start) / last;
  return where(i < i.literal(static_cast<double>(steps / 2)), start + step * i, end - step * (last - i));
}

/// a + b * i in f64 with one rounding, for whole i below 2^26 and the sum of a and a part of b * i in two
/// parts.
Ref multiplied_and_added(const Ref& a, const Ref& b, const Ref& i) {
  const Ref upper = cast(DType::f64, cast(DType::f32, b)), lower = b - upper;  // times i, both are exact
  const Ref product = upper * i, total = a + product, part = total - a;
  const Ref lost = (a - (total - part)) + (product - part);
  return total + (lost + lower * i);
}

/// `steps` numbers from start to end in f64, as PyTorch computes them before it cuts them to integers.
Ref spaced_to_cut(const Ref& start, const Ref& end, std::int64_t steps, bool one_rounding) {
  if (steps == 1) return reshape(start, {Dim(1)});
  const double last = static_cast<double>(steps - 1);
  const Ref i = iota(Dim(steps), start.insertion_point(), DType::f64), rest = last - i;
  const Ref step = (end - start) / last;
  const Ref up = one_rounding ? multiplied_and_added(start, step, i) : start + step * i;
  const Ref down = one_rounding ? multiplied_and_added(end, -step, rest) : end - step * rest;
  return where(i < i.literal(static_cast<double>(steps / 2)), up, down);
}

/// linspace, or of a power of a base logspace.
Results steps_of(Call& call, bool is_power) {
  ignore_place(call);
  const DType dtype = call.dtype("dtype").value_or(DType::f32);
  const auto bound = [&](std::string_view name) {
    const Ref x = operand(call.build, call.value(name), dtype);
    return x.rank() == 0 ? x : reshape(x, {});
  };
  const Ref start = bound("start"), end = bound("end");
  const std::int64_t steps = call.integer("steps", 100);
  if (is_float(dtype)) {
    const Ref x = spaced(start, end, steps);
    return is_power ? pow(x.literal(call.number("base", 10)), x) : x;
  }
  const Ref x = spaced_to_cut(cast(DType::f64, start), cast(DType::f64, end), steps, !is_power);
  return cast(dtype, is_power ? pow(x.literal(call.number("base", 10)), x) : x);
}
Results linspace(Call& call) { return steps_of(call, false); }
Results logspace(Call& call) { return steps_of(call, true); }

Results eye(Call& call) {
  ignore_place(call);
  const Dim rows = call.size("n");
  const Dim columns = call.size("m", rows);
  const InsertionPoint& point = call.build.insertion_point();
  const Ref i = reshape(iota(rows, point), {rows, Dim(1)});
  return cast(call.dtype("dtype").value_or(DType::f32), equal(i, iota(columns, point)));
}

template <bool lower>
Results keep_triangle(Call& call) {
  return kept_triangle(call.tensor("self"), lower, call.size("diagonal", 0));
}

/// The places of the lower or upper triangle: i64[2, count].
template <bool lower>
Results triangle_indices(Call& call) {
  ignore_place(call);
  const Ref keep = triangle(call.size("row"), call.size("col"), lower, call.size("offset", 0),
                            call.build.insertion_point());
  std::vector<Ref> rows;
  for (const Ref& places : true_places(call.build, keep))
    rows.push_back(reshape(places, {Dim(1), numel(places.shape())}));
  return cast(call.dtype("dtype").value_or(DType::i64), concat(rows, 0));
}

/// A tensor from a number or nested lists of numbers.
void collect(const AbstractValue& d, std::size_t depth, Shape& shape, std::vector<AbstractValue>& numbers) {
  if (const auto* items = items_of(d)) {
    if (shape.size() == depth) shape.emplace_back(items->size());
    if (shape[depth] != Dim(items->size())) throw error("a ragged list as a tensor");
    for (const AbstractValue& item : *items) collect(item, depth + 1, shape, numbers);
  } else {
    numbers.push_back(d);
  }
}

Results tensor_op(Call& call) {
  call.ignore({"device", "requires_grad"});
  const AbstractValue data = call.value(call.find("data") ? "data"
                                        : call.find("t")  ? "t"
                                        : call.find("s")  ? "s"
                                                          : "self");
  const auto dtype = call.dtype("dtype");
  if (const auto* t = data.get<TensorPtr>()) {
    const DType own = (*t)->is_scalar && is_float((*t)->dtype()) ? DType::f32 : (*t)->dtype();
    return call.build.tensor(cast(dtype.value_or(own), call.build.read(*t)));
  }
  Shape shape;
  std::vector<AbstractValue> numbers;
  collect(data, 0, shape, numbers);
  DType common = numbers.empty() ? DType::f32 : result_type(numbers);
  if (dtype) common = *dtype;
  if (shape.empty()) {
    if (numbers[0].is<Dim>() && common == DType::i64) return call.build.number(*numbers[0].get<Dim>());
    return operand(call.build, numbers[0], common);
  }
  if (numbers.empty()) return full(shape, 0, common, call.build.insertion_point());
  std::vector<Ref> parts;
  for (const AbstractValue& number : numbers)
    parts.push_back(reshape(operand(call.build, number, common), {Dim(1)}));
  return reshape(parts.size() == 1 ? parts[0] : concat(parts, 0), shape);
}

Results scalar_tensor(Call& call) {
  ignore_place(call);
  return operand(call.build, call.value("s"), call.dtype("dtype").value_or(DType::f32));
}

constexpr AtenEntry creation_table[] = {
    {"zeros", constant<0>},
    {"ones", constant<1>},
    {"empty", constant<0>},
    {"full", full_op},
    {"new_zeros", new_constant<0>},
    {"new_ones", new_constant<1>},
    {"new_empty", new_constant<0>},
    {"new_full", new_full},
    {"zeros_like", constant_like<0>},
    {"ones_like", constant_like<1>},
    {"empty_like", constant_like<0>},
    {"full_like", full_like},
    {"arange", arange},
    {"linspace", linspace},
    {"logspace", logspace},
    {"eye", eye},
    {"tril", keep_triangle<true>},
    {"triu", keep_triangle<false>},
    {"tril_indices", triangle_indices<true>},
    {"triu_indices", triangle_indices<false>},
    {"tensor", tensor_op},
    {"as_tensor", tensor_op},
    {"scalar_tensor", scalar_tensor},
};

}  // namespace

std::span<const AtenEntry> creation_entries() { return creation_table; }

}  // namespace tenon::converter
