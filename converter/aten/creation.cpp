// Tensors made from sizes and numbers.
#include <cmath>

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "converter/interpreter/numbers.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/create.h"
#include "ir/ops/data_size.h"
#include "ir/ops/logic.h"
#include "ir/ops/shape.h"

namespace tenon::converter {

namespace {

void ignore_place(Call& call) { call.ignore({"layout", "device", "pin_memory", "memory_format", "names"}); }

DType dtype_of_number(const Datum& d) {
  if (d.is<bool>()) return DType::boolean;
  if (d.is<Dim>()) return DType::i64;
  return DType::f32;
}

Ref filled(Call& call, Shape shape, const Datum& value, DType dtype) {
  ignore_place(call);
  const auto* dim = value.get<Dim>();
  if (value.is_tensor() || (dim && (!dim->is_known() || !fits_double(dim->value()))))
    return expand(operand(call.build, value, dtype), std::move(shape));
  const Ref literal = call.build.literal(value, dtype);
  return full(std::move(shape), literal.value()->tensor().get_double(), dtype, call.build.place());
}

template <int value>
Results constant(Call& call) {
  return filled(call, call.sizes("size"), Datum(value), call.dtype("dtype").value_or(DType::f32));
}
Results full_op(Call& call) {
  const Datum value = call.datum("fill_value");
  return filled(call, call.sizes("size"), value, call.dtype("dtype").value_or(dtype_of_number(value)));
}
template <int value>
Results new_constant(Call& call) {
  const DType dtype = call.dtype("dtype").value_or(call.tensor_ptr("self")->dtype());
  return filled(call, call.sizes("size"), Datum(value), dtype);
}
Results new_full(Call& call) {
  const DType dtype = call.dtype("dtype").value_or(call.tensor_ptr("self")->dtype());
  return filled(call, call.sizes("size"), call.datum("fill_value"), dtype);
}
template <int value>
Results constant_like(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  return filled(call, x->shape(), Datum(value), call.dtype("dtype").value_or(x->dtype()));
}
Results full_like(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  return filled(call, x->shape(), call.datum("fill_value"), call.dtype("dtype").value_or(x->dtype()));
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

Results arange(Call& call) {
  ignore_place(call);
  const Datum start = call.has("start") ? call.datum("start") : Datum(Dim(0));
  const Datum end = call.datum("end");
  const Datum step = call.has("step") ? call.datum("step") : Datum(Dim(1));
  const auto to_dim = [&](const Datum& d) -> std::optional<Dim> {
    if (const auto* dim = d.get<Dim>()) return *dim;
    const auto* t = d.get<TensorPtr>();
    const auto known = t ? call.build.known_number(*t) : std::nullopt;
    return known && known->is<Dim>() ? std::optional(*known->get<Dim>()) : std::nullopt;
  };
  auto a = to_dim(start), b = to_dim(end);
  const auto s = to_dim(step);
  const Place& place = call.build.place();
  const auto is_computed_int = [&](const Datum& d) {
    const auto* t = d.get<TensorPtr>();
    return t && is_integral((*t)->dtype());
  };
  const bool computed = (!a && is_computed_int(start)) || (!b && is_computed_int(end));
  if (computed && a == Dim(0) && s == Dim(1)) b = call.size("end");
  if (computed && !(a && b) && s && s->is_known() && s->value() != 0)
    return computed_range(call, number_value(call.build, start), number_value(call.build, end), s->value());
  if (a && b && s) {
    const DType dtype = call.dtype("dtype").value_or(DType::i64);
    if (!s->is_known() || s->value() == 0) throw unsupported("arange with a step of {}", s->str());
    Dim count = s->value() > 0 ? ceil_div(*b - *a, *s) : ceil_div(*a - *b, -*s);
    if (known_less(count, Dim(0)).value_or(true)) count = max(count, Dim(0));
    Ref y = iota(count, place, dtype);
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
  if (!is_float(dtype)) throw unsupported("an integer arange with float bounds");
  const Ref steps = iota(Dim(static_cast<std::int64_t>(std::max(count, 0.0))), place, DType::f64);
  return cast(dtype, steps * by + first);
}

/// `steps` numbers from start to end in a float dtype. PyTorch counts the second half from the end.
Ref spaced(const Ref& start, const Ref& end, std::int64_t steps) {
  const Place& place = start.place();
  if (steps == 1) return reshape(start, {Dim(1)});
  const double last = static_cast<double>(steps - 1);
  const Ref i = iota(Dim(steps), place, start.dtype());
  const Ref step = (end - start) / last;
  return where(i < i.literal(static_cast<double>(steps / 2)), start + step * i, end - step * (last - i));
}

Ref linear_steps(Call& call) {
  ignore_place(call);
  const DType dtype = call.dtype("dtype").value_or(DType::f32);
  if (!is_float(dtype))
    throw unsupported("{} of integers, which are cut where a last bit decides", call.name)
        .hint("make one of floats and round it");
  const auto bound = [&](std::string_view name) {
    const Ref x = operand(call.build, call.datum(name), dtype);
    return x.rank() == 0 ? x : reshape(x, {});
  };
  return spaced(bound("start"), bound("end"), call.integer("steps", 100));
}
Results linspace(Call& call) { return linear_steps(call); }
Results logspace(Call& call) {
  const Ref x = linear_steps(call);
  return pow(x.literal(call.number("base", 10)), x);
}

Results eye(Call& call) {
  ignore_place(call);
  const Dim rows = call.size("n");
  const Dim columns = call.size("m", rows);
  const Place& place = call.build.place();
  const Ref i = reshape(iota(rows, place), {rows, Dim(1)});
  return cast(call.dtype("dtype").value_or(DType::f32), equal(i, iota(columns, place)));
}

/// True where column - row (op) diagonal.
Ref triangle(Call& call, const Dim& rows, const Dim& columns, bool lower, const Dim& diagonal) {
  const Place& place = call.build.place();
  const Ref i = reshape(iota(rows, place), {rows, Dim(1)});
  const Ref limit = diagonal == Dim(0) ? i : i + call.build.literal(diagonal, DType::i64);
  const Ref j = iota(columns, place);
  return lower ? j <= limit : j >= limit;
}

template <bool lower>
Results keep_triangle(Call& call) {
  const Ref x = call.tensor("self");
  if (x.rank() < 2) throw error("tril or triu of a tensor of rank {}", x.rank());
  const Dim& rows = x.shape()[x.rank() - 2];
  const Ref keep = triangle(call, rows, x.shape().back(), lower, call.size("diagonal", 0));
  return where(keep, x, x.literal(0));
}

/// A tensor from a number or nested lists of numbers.
void collect(const Datum& d, std::size_t depth, Shape& shape, std::vector<Datum>& numbers) {
  if (const auto* items = items_of(d)) {
    if (shape.size() == depth) shape.emplace_back(items->size());
    if (shape[depth] != Dim(items->size())) throw error("a ragged list as a tensor");
    for (const Datum& item : *items) collect(item, depth + 1, shape, numbers);
  } else {
    numbers.push_back(d);
  }
}

Results tensor_op(Call& call) {
  call.ignore({"device", "requires_grad"});
  const Datum data = call.datum(call.find("data") ? "data"
                                : call.find("t")  ? "t"
                                : call.find("s")  ? "s"
                                                  : "self");
  const auto dtype = call.dtype("dtype");
  if (const auto* t = data.get<TensorPtr>()) {
    const DType own = (*t)->is_scalar && is_float((*t)->dtype()) ? DType::f32 : (*t)->dtype();
    return call.build.tensor(cast(dtype.value_or(own), call.build.read(*t)));
  }
  Shape shape;
  std::vector<Datum> numbers;
  collect(data, 0, shape, numbers);
  DType common = numbers.empty() ? DType::f32 : result_type(numbers);
  if (dtype) common = *dtype;
  if (shape.empty()) {
    if (numbers[0].is<Dim>() && common == DType::i64) return call.build.number(*numbers[0].get<Dim>());
    return operand(call.build, numbers[0], common);
  }
  if (numbers.empty()) return full(shape, 0, common, call.build.place());
  std::vector<Ref> parts;
  for (const Datum& number : numbers) parts.push_back(reshape(operand(call.build, number, common), {Dim(1)}));
  return reshape(parts.size() == 1 ? parts[0] : concat(parts, 0), shape);
}

Results scalar_tensor(Call& call) {
  ignore_place(call);
  return operand(call.build, call.datum("s"), call.dtype("dtype").value_or(DType::f32));
}

Results random(Call&) {
  throw unsupported("random numbers").hint("draw them outside of the model and pass them in as an input");
}

constexpr Entry entries[] = {
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
    {"tensor", tensor_op},
    {"as_tensor", tensor_op},
    {"scalar_tensor", scalar_tensor},
    {"rand", random},
    {"randn", random},
    {"randint", random},
    {"rand_like", random},
    {"randn_like", random},
    {"randint_like", random},
    {"randperm", random},
    {"bernoulli", random},
    {"bernoulli_", random},
    {"normal", random},
    {"normal_", random},
    {"uniform_", random},
    {"multinomial", random},
    {"exponential_", random},
};

}  // namespace

std::span<const Entry> creation_entries() { return entries; }

}  // namespace tenon::converter
