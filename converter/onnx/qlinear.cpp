// Operators on quantised numbers of com.microsoft: real numbers, the operator, and quantised again.
#include <array>

#include "base/error.h"
#include "converter/onnx/pooling.h"
#include "converter/onnx/quantized.h"
#include "converter/onnx/table.h"
#include "converter/onnx/windows.h"
#include "ir/ops/activation.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

DType dtype_of(const Call& call, std::size_t i) { return call.type(i).dtype; }

Operands add(Call& call) {
  return quantized_result(call, real_operand(call, 0) + real_operand(call, 3), 6, dtype_of(call, 0));
}
Operands multiply(Call& call) {
  return quantized_result(call, real_operand(call, 0) * real_operand(call, 3), 6, dtype_of(call, 0));
}

Operands leaky_relu(Call& call) {
  const Ref y = apply(LeakyRelu{.slope = call.number("alpha", 0.01)}, {real_operand(call, 0)});
  return quantized_result(call, y, 3, dtype_of(call, 0));
}
Operands sigmoid_of(Call& call) {
  return quantized_result(call, sigmoid(real_operand(call, 0)), 3, dtype_of(call, 0));
}

/// Until operator set 13 of the standard all axes from the given one on are one.
Operands softmax_of(Call& call) {
  const Ref x = real_operand(call, 0);
  const bool joins = call.integer("opset") < 13;
  const std::int64_t axis = call.axis(x.rank(), joins ? 1 : -1);
  if (!joins) return quantized_result(call, softmax(x, axis), 3, dtype_of(call, 0));
  const Shape rest(x.shape().begin() + axis, x.shape().end());
  Shape joined(x.shape().begin(), x.shape().begin() + axis);
  joined.push_back(numel(rest));
  return quantized_result(call, reshape(softmax(reshape(x, joined), axis), x.shape()), 3, dtype_of(call, 0));
}

Operands quantized_average_pool(Call& call) {
  const bool is_last = call.integer("channels_last", 0) != 0;
  const Ref x = real_operand(call, 0);
  const Ref y = average_pooled(call, is_last ? channels_first(x) : x);
  return quantized_result(call, is_last ? channels_last(y) : y, 3, dtype_of(call, 0));
}
Operands quantized_global_average_pool(Call& call) {
  const bool is_last = call.integer("channels_last", 0) != 0;
  const Ref x = real_operand(call, 0);
  const Ref y = global_average_pooled(is_last ? channels_first(x) : x);
  return quantized_result(call, is_last ? channels_last(y) : y, 3, dtype_of(call, 0));
}

/// The result's scale and zero point stand before the parts.
Operands concatenate(Call& call) {
  std::vector<Ref> parts;
  for (std::size_t i = 2; i + 2 < call.count(); i += 3) parts.push_back(real_operand(call, i));
  if (parts.empty()) throw error("it has no tensors");
  return quantized_result(call, concat(parts, call.axis(parts[0].rank(), 0)), 0, dtype_of(call, 2));
}

Operands select(Call& call) {
  const Ref y = where(call.tensor(0), real_operand(call, 1), real_operand(call, 4));
  return quantized_result(call, y, 7, dtype_of(call, 1));
}

}  // namespace

std::span<const OnnxEntry> qlinear_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"com.microsoft.QLinearAdd", add},
      OnnxEntry{"com.microsoft.QLinearAveragePool", quantized_average_pool},
      OnnxEntry{"com.microsoft.QLinearConcat", concatenate},
      OnnxEntry{"com.microsoft.QLinearGlobalAveragePool", quantized_global_average_pool},
      OnnxEntry{"com.microsoft.QLinearLeakyRelu", leaky_relu},
      OnnxEntry{"com.microsoft.QLinearMul", multiply},
      OnnxEntry{"com.microsoft.QLinearSigmoid", sigmoid_of},
      OnnxEntry{"com.microsoft.QLinearSoftmax", softmax_of},
      OnnxEntry{"com.microsoft.QLinearWhere", select},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
