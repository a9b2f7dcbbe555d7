// Operators of the first operator sets that ONNX took back; files of that time hold them, and ONNX Runtime
// still runs them.
#include <array>

#include "base/error.h"
#include "converter/onnx/constants.h"
#include "converter/onnx/table.h"
#include "ir/ops/activation.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

Operands affine(Call& call) { return {call.tensor(0) * call.number("alpha", 1) + call.number("beta", 0)}; }

Operands scale(Call& call) { return {call.tensor(0) * call.number("scale", 1)}; }

Operands scaled_tanh(Call& call) {
  return {tanh(call.tensor(0) * call.number("beta", 1)) * call.number("alpha", 1)};
}

Operands parametric_softplus(Call& call) {
  return {tenon::apply(Softplus{}, {call.tensor(0) * call.number("beta", 1)}) * call.number("alpha", 1)};
}

/// All of it by a factor, and a number for each channel.
Operands image_scaler(Call& call) {
  const Ref x = call.tensor(0);
  check_rank("its input", x.type(), 4);
  const Ref y = x * call.number("scale", 1);
  const std::vector<float> bias = call.numbers("bias");
  if (bias.empty()) return {y};
  const auto channels = static_cast<std::int64_t>(bias.size());
  return {y + reshape(constant(call, vector_of(bias), "bias"), {Dim(channels), Dim(1), Dim(1)})};
}

/// What is left between borders (left, top, right, bottom), or a part of a given size behind them.
Operands crop(Call& call) {
  const Ref x = call.tensor(0);
  check_rank("its input", x.type(), 4);
  const Axes border = call.integers("border", {}), size = call.integers("scale", {});
  if (border.size() != 4 || (!size.empty() && size.size() != 2))
    throw error("its border has {} numbers, its scale {}", border.size(), size.size());
  for (const std::int64_t b : border)
    if (b < 0) throw error("its border is {}", b);
  const Dim height = x.shape()[2], width = x.shape()[3];
  const Dim bottom = size.empty() ? height - border[3] : Dim(border[1]) + size[0];
  const Dim right = size.empty() ? width - border[2] : Dim(border[0]) + size[1];
  return {slice(slice(x, 2, Dim(border[1]), bottom), 3, Dim(border[0]), right)};
}

Operands given_tensor(Call& call) {
  if (call.count() > 0) throw unsupported("a shape that is an input");
  const Tensor values = vector_of(call.numbers("values"));
  const Axes shape = call.integers("shape", {});
  std::int64_t count = 1;
  for (const std::int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      throw error("its shape has the size {}", size);
  if (count != values.numel()) throw error("{} values for {} places", values.numel(), count);
  return {constant(call, values.reshape(shape), "given")};
}

}  // namespace

std::span<const OnnxEntry> legacy_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"Affine", affine},
      OnnxEntry{"Crop", crop},
      OnnxEntry{"GivenTensorFill", given_tensor},
      OnnxEntry{"ImageScaler", image_scaler},
      OnnxEntry{"ParametricSoftplus", parametric_softplus},
      OnnxEntry{"Scale", scale},
      OnnxEntry{"ScaledTanh", scaled_tanh},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
