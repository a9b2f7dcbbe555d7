// What a quantised tensor is to the converter, and how numbers are rounded to its grid.
#include "converter/aten/quantized.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/interpreter/numbers.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/reduce.h"

namespace tenon::converter {

namespace {

const std::vector<std::string> fields = {"real", "scale", "zero_point", "dtype", "axis"};
/// As the reader of archives has them (libtorch/program_writer.cpp).
const std::vector<std::string> stored_fields = {"codes", "scale", "zero_point", "dtype", "axis"};

const Tuple* tuple_with(const AbstractValue& d, const std::vector<std::string>& names) {
  const auto* tuple = d.get<TuplePtr>();
  return tuple && (*tuple)->fields == names ? tuple->get() : nullptr;
}

}  // namespace

Ref beside(Builder& build, const AbstractValue& d, std::size_t rank, std::optional<std::int64_t> axis) {
  if (!d.is_tensor()) return build.literal(d, DType::f32);
  const Ref v = cast(DType::f32, build.read(*d.get<TensorPtr>()));
  if (!axis) return reshape(v, {});
  Shape along(rank, Dim(1));
  along.at(static_cast<std::size_t>(*axis)) = numel(v.shape());
  return reshape(v, along);
}

std::pair<double, double> bounds_of(std::int64_t dtype) {
  switch (dtype) {
    case qint8: return {-128, 127};
    case quint8: return {0, 255};
    case qint32: return {-2147483648.0, 2147483647.0};
    default: throw unsupported("a tensor quantised to the dtype number {}", dtype);
  }
}

AbstractValue as_value(const Quantized& q) {
  auto tuple = std::make_shared<Tuple>();
  tuple->items = {AbstractValue(q.real), q.scale, q.zero, AbstractValue(q.dtype),
                  q.axis ? AbstractValue(*q.axis) : AbstractValue()};
  tuple->fields = fields;
  return AbstractValue(TuplePtr(tuple));
}

bool is_quantized(const AbstractValue& d) { return tuple_with(d, fields) || tuple_with(d, stored_fields); }

Quantized quantized_of(Builder& build, const AbstractValue& d) {
  const Tuple *held = tuple_with(d, fields), *stored = tuple_with(d, stored_fields);
  if (!held && !stored) throw unsupported("{} where a quantised tensor is needed", kind_name(d));
  const auto& items = (held ? held : stored)->items;
  Quantized q{.scale = items[1], .zero = items[2], .dtype = items[3].get<Dim>()->value()};
  if (const auto* axis = items[4].get<Dim>()) q.axis = axis->value();
  if (held) {
    q.real = *items[0].get<TensorPtr>();
    return q;
  }
  const auto* codes = items[0].get<TensorPtr>();
  if (!codes) throw unsupported("{} as the integers of a quantised tensor", kind_name(items[0]));
  const Ref x = build.read(*codes);
  q.real = build.tensor((cast(DType::f32, x) - beside(build, q.zero, x.rank(), q.axis)) *
                        beside(build, q.scale, x.rank(), q.axis));
  return q;
}

namespace {

Ref code_of(const Ref& x, const Grid& g) {
  const Ref code = round(x * (g.scale.literal(1) / g.scale)) + g.zero;
  return apply(Clamp{.min = g.low, .max = g.high}, {code});
}

Ref number_of(const Ref& code, const Grid& g) { return (code - g.zero) * g.scale; }

}  // namespace

Ref on_grid(const Ref& x, const Grid& g) { return number_of(code_of(x, g), g); }

// PyTorch's ChooseQuantizationParams, in double precision as there.
Ref on_own_grid(const Ref& x, bool reduced) {
  const double high = reduced ? 127 : 255, smallest = 6.1e-5;
  const Ref lowest = amin(reshape(x, {numel(x.shape())}), {0}),
            most = amax(reshape(x, {numel(x.shape())}), {0});
  const Ref zero = cast(DType::f64, lowest).literal(0);
  Ref low = minimum(cast(DType::f64, lowest), zero), up = maximum(cast(DType::f64, most), zero);
  Ref scale = (up - low) / high;
  scale = where(equal(scale, zero), scale.literal(0.1), scale);
  const Ref tiny = scale < scale.literal(smallest), grown = scale.literal(smallest) / scale;
  low = where(tiny, low * grown, low);
  up = where(tiny, up * grown, up);
  scale = where(tiny, scale.literal(smallest), scale);
  // Of the two ends the one that gives the smaller error.
  const Ref from_low = zero - low / scale, from_up = scale.literal(high) - up / scale;
  const Ref place = where(abs(low / scale) < abs(up / scale) + high, from_low, from_up);
  const Ref code = apply(Clamp{.min = 0, .max = high}, {round(place)});
  return on_grid(x, {cast(DType::f32, scale), cast(DType::f32, code), 0, high});
}

AbstractValue rounded(Builder& build, const Ref& y, const AbstractValue& scale, const AbstractValue& zero,
                      std::int64_t dtype) {
  const auto [low, high] = bounds_of(dtype);
  const Grid grid{beside(build, scale, 0, std::nullopt), beside(build, zero, 0, std::nullopt), low, high};
  Ref code = code_of(cast(DType::f32, y), grid);
  // As PyTorch holds it: products of bytes look for bytes.
  if (dtype != qint32) code = cast(DType::f32, cast(dtype == qint8 ? DType::i8 : DType::u8, code));
  return as_value(
      {.real = build.tensor(number_of(code, grid)), .scale = scale, .zero = zero, .dtype = dtype});
}

std::optional<AbstractValue> quantized_property(std::string_view kind, const AbstractValue& d) {
  const Tuple* held = tuple_with(d, fields);
  if (!held) held = tuple_with(d, stored_fields);
  if (!held) return std::nullopt;
  if (kind == "prim::is_quantized") return AbstractValue(true);
  if (kind == "prim::dtype") return held->items[3];
  return std::nullopt;
}

}  // namespace tenon::converter
