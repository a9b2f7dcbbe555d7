// Random numbers, and what training drops. Whether a model may draw them is decided when the graph is whole
// (converter/random.h); the attribute `seed` is that of another generator, and is passed over.
#include "ir/random.h"

#include <array>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

/// Of the attributes shape and dtype, or as the operand.
Type drawn_type(const Call& call) {
  Type type{DType::f32, {}};
  if (call.count() > 0) type = call.type(0);
  for (const std::int64_t size : call.integers("shape", {})) {
    if (size < 0) throw error("its shape has the size {}", size);
    type.shape.emplace_back(size);
  }
  type.dtype = call.dtype("dtype", type.dtype);
  if (!is_float(type.dtype))
    throw error("random numbers of {}: its dtype is to be a float", name(type.dtype));
  return type;
}

Ref drawn(const Call& call, Ref (*draw)(const Shape&, DType, const InsertionPoint&)) {
  const Type type = drawn_type(call);
  return draw(type.shape, type.dtype, call.build.insertion_point());
}

Operands normal(Call& call) {
  return {drawn(call, standard_normal) * call.number("scale", 1) + call.number("mean", 0)};
}

Operands uniform(Call& call) {
  const double low = call.number("low", 0), high = call.number("high", 1);
  return {drawn(call, tenon::uniform) * (high - low) + low};
}

Operands bernoulli(Call& call) {
  const Ref p = call.tensor(0);
  return {cast(call.dtype("dtype", p.dtype()), tenon::bernoulli(p.shape(), p, call.build.insertion_point()))};
}

/// Classes by the logarithms of their weights: [rows, sample_size].
Operands multinomial(Call& call) {
  const Ref x = call.tensor(0);
  check_rank("its input", x.type(), 2);
  const std::int64_t count = call.integer("sample_size", 1);
  if (count < 1) throw error("its sample_size is {}", count);
  const Ref weights = exp(x - amax(x, {1}, true));
  return {cast(call.dtype("dtype", DType::i32), tenon::multinomial(weights, Dim(count), true))};
}

/// The input and a mask of all, where it is inference; in training some elements are dropped.
Operands dropout(Call& call) {
  call.need(1);
  const bool trains =
      call.version < 7 ? call.integer("is_test", 0) == 0 : call.has(2) && call.integer(2) != 0;
  const double ratio = call.version < 12 ? call.number("ratio", 0.5) : call.has(1) ? call.number(1) : 0.5;
  const DType of_mask = call.version < 10 ? call.type(0).dtype : DType::boolean;
  if (trains && ratio != 0) {
    if (!(ratio > 0 && ratio < 1)) throw error("its ratio {} is not within [0, 1)", ratio);
    const auto out = tenon::dropout(call.tensor(0), ratio);
    return {out[0], cast(of_mask, out[1])};
  }
  Operands out = {call.operand(0)};
  if (call.wants(1)) out.emplace_back(full(call.type(0).shape, 1, of_mask, call.build.insertion_point()));
  return out;
}

}  // namespace

std::span<const OnnxEntry> random_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"Bernoulli", bernoulli},       OnnxEntry{"Dropout", dropout},
      OnnxEntry{"Multinomial", multinomial},   OnnxEntry{"RandomNormal", normal},
      OnnxEntry{"RandomNormalLike", normal},   OnnxEntry{"RandomUniform", uniform},
      OnnxEntry{"RandomUniformLike", uniform},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
