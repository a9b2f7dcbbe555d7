// Tensors from attributes and sizes.
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "converter/onnx/constants.h"
#include "converter/onnx/onnx.pb.h"
#include "converter/onnx/table.h"
#include "ir/axis.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/data_size.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

Operands constant_value(Call& call) {
  const std::string name = call.outputs() == 0 ? "constant" : call.node.output(0);
  const auto made = [&](Tensor t) -> Operands { return {call.values.constant(std::move(t), name)}; };
  for (const AttributeProto& a : call.node.attribute()) {
    const std::string& kind = a.name();
    if (kind == "value") return made(call.data(kind));
    if (kind == "value_float") return made(Tensor::scalar(DType::f32, static_cast<double>(a.f())));
    if (kind == "value_int") return made(Tensor::scalar(DType::i64, a.i()));
    if (kind == "value_floats") return made(vector_of(call.numbers(kind)));
    if (kind == "value_ints") return made(vector_of(call.integers(kind, {})));
    if (kind == "value_string") return made(vector_of(std::vector{a.s()}).reshape({}));
    if (kind == "value_strings") return made(vector_of(call.texts(kind)));
    if (kind == "sparse_value" && a.has_sparse_tensor()) return made(call.model.tensor(a.sparse_tensor()));
  }
  throw error("it has no value");
}

Operands constant_of_shape(Call& call) {
  const Shape shape = call.sizes(0);
  if (!call.has("value")) return {full(shape, 0, DType::f32, call.build.insertion_point())};
  const Tensor value = call.data("value");
  if (value.numel() != 1) throw error("its value has {} elements, not one", value.numel());
  if (is_complex(value.dtype())) throw unsupported("complex numbers");
  const Ref element = call.values.read(call.values.constant(value.reshape({}), "value"));
  return {expand(element, shape)};
}

/// start, start + delta, ... before limit.
Operands range(Call& call) {
  const DType dtype = call.type(0).dtype;
  const auto is_computed = [&](std::size_t i) {
    return is_integral(dtype) && !call.values.sizes(call.operand(i), Values::Effort::fix) &&
           call.tensor(i).value()->kind() != Value::Kind::parameter;
  };
  if (is_computed(0) || is_computed(1)) {
    const Ref start = cast(DType::i64, call.tensor(0)), limit = cast(DType::i64, call.tensor(1));
    const std::int64_t delta = call.integer(2), size = std::abs(delta);
    if (delta == 0) throw error("its delta is 0");
    const Ref span = (delta > 0 ? limit - start : start - limit) + static_cast<double>(size - 1);
    const Ref count =
        apply(FloorDiv{}, {maximum(span, span.literal(0)), span.literal(static_cast<double>(size))});
    const Ref steps = call.build.sized(CountUp{}, {reshape(count, {})})[0];
    return {cast(dtype, steps * static_cast<double>(delta) + reshape(start, {}))};
  }
  if (is_integral(dtype)) {
    const Dim start = call.size(0), limit = call.size(1);
    const std::int64_t delta = call.integer(2);
    if (delta == 0) throw error("its delta is 0");
    const Dim length = delta > 0 ? ceil_div(limit - start, Dim(delta)) : ceil_div(start - limit, Dim(-delta));
    const Dim count = known_less(length, Dim(0)) == false ? length : max(length, Dim(0));
    const Ref steps = iota(count, call.build.insertion_point());
    return {cast(dtype, steps * static_cast<double>(delta) + dim_value(start, steps))};
  }
  const double start = call.number(0), limit = call.number(1), delta = call.number(2);
  const double length = std::ceil((limit - start) / delta);
  if (!(length < 1e9)) throw error("its range has {} elements", length);
  const Ref steps =
      iota(Dim(static_cast<std::int64_t>(std::max(length, 0.0))), call.build.insertion_point(), dtype);
  return {steps * delta + start};
}

Operands eye_like(Call& call) {
  const Type type = call.type(0);
  if (type.rank() != 2) throw error("a tensor of rank {} where a matrix is needed", type.rank());
  const DType dtype = call.dtype("dtype", type.dtype);
  const Ref row = reshape(iota(type.shape[0], call.build.insertion_point()), {type.shape[0], Dim(1)});
  const Ref column = iota(type.shape[1], call.build.insertion_point());
  const auto k = static_cast<double>(call.integer("k", 0));
  return {cast(dtype, equal(row + k, column))};
}

Operands one_hot(Call& call) {
  const Dim depth = call.size(1);
  const Ref values = call.tensor(2);
  Ref indices = call.tensor(0);
  std::int64_t axis = call.integer("axis", -1);
  const auto rank = static_cast<std::int64_t>(indices.rank()) + 1;
  axis = normalize_axis(axis, static_cast<std::size_t>(rank));
  indices = cast(DType::i64, indices);
  indices = where(indices < indices.literal(0), indices + dim_value(depth, indices), indices);
  Shape shape = with_axis(indices.shape(), axis);
  Shape along(static_cast<std::size_t>(rank), Dim(1));
  along[static_cast<std::size_t>(axis)] = depth;
  const Ref is_hot =
      equal(reshape(indices, shape), reshape(iota(depth, call.build.insertion_point()), along));
  const auto value = [&](std::int64_t i) { return reshape(slice(values, 0, Dim(i), Dim(i + 1)), {}); };
  return {where(is_hot, value(1), value(0))};
}

/// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N)
Operands window(Call& call, double a0, double a1, double a2) {
  const std::int64_t size = call.integer(0);
  const DType dtype = call.dtype("output_datatype", DType::f32);
  const double length = static_cast<double>(call.integer("periodic", 1) != 0 ? size : size - 1);
  const Ref n = iota(Dim(size), call.build.insertion_point(), DType::f64) * (2 * std::numbers::pi / length);
  Ref y = cos(n) * -a1 + a0;
  if (a2 != 0) y = y + cos(n * 2.0) * a2;
  return {cast(dtype, y)};
}
Operands hann_window(Call& call) { return window(call, 0.5, 0.5, 0); }
Operands hamming_window(Call& call) { return window(call, 25.0 / 46, 21.0 / 46, 0); }
Operands blackman_window(Call& call) { return window(call, 0.42, 0.5, 0.08); }

}  // namespace

std::span<const OnnxEntry> creation_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"BlackmanWindow", blackman_window},
      OnnxEntry{"Constant", constant_value},
      OnnxEntry{"ConstantOfShape", constant_of_shape},
      OnnxEntry{"EyeLike", eye_like},
      OnnxEntry{"HammingWindow", hamming_window},
      OnnxEntry{"HannWindow", hann_window},
      OnnxEntry{"OneHot", one_hot},
      OnnxEntry{"Range", range},
      OnnxEntry{"com.microsoft.Range", range},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
