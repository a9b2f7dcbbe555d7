// Products of quantised matrices of com.microsoft, with floats as inputs or results.
#include <array>

#include "base/error.h"
#include "converter/onnx/quantized.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

Ref with_bias(const Call& call, const Ref& y, std::size_t i) { return call.has(i) ? y + call.tensor(i) : y; }

/// The left matrix is quantised while the model runs.
Operands dynamic_quantize_matmul(Call& call) {
  const Quantized a = quantized_dynamically(call.tensor(0));
  const Ref b = dequantized(call.tensor(1), call.tensor(2), call.optional_tensor(3));
  const Ref y = matmul(cast(DType::f32, centred(a.values, a.zero)), b) * a.scale;
  return {with_bias(call, y, 4)};
}

Operands matmul_integer_to_float(Call& call) {
  const Ref a = dequantized(call.tensor(0), along_rows(call.tensor(2)), along_rows(call.optional_tensor(4)));
  const Ref b = dequantized(call.tensor(1), call.tensor(3), call.optional_tensor(5));
  return {with_bias(call, matmul(a, b), 6)};
}

/// alpha (A B + C), where the integers C have the scale of A times that of B.
Operands gemm_quantized(Call& call) {
  Ref a = real_operand(call, 0), b = call.tensor(3);
  check_rank("A", a.type(), 2);
  check_rank("B", b.type(), 2);
  if (call.integer("transA", 0) != 0) a = transpose(a, 0, 1);
  if (call.integer("transB", 0) != 0) b = transpose(b, 0, 1);
  const Ref scale = call.tensor(4);
  Ref y = matmul(a, dequantized(b, scale, call.optional_tensor(5)));
  if (call.has(6)) y = y + cast(DType::f32, call.tensor(6)) * (reshape(call.tensor(1), {}) * scale);
  const double alpha = call.number("alpha", 1);
  if (alpha != 1) y = y * alpha;
  if (!call.has(7)) return {y};
  return quantized_result(call, y, 7, call.type(0).dtype);
}

}  // namespace

std::span<const OnnxEntry> quantized_matrix_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"com.microsoft.DynamicQuantizeMatMul", dynamic_quantize_matmul},
      OnnxEntry{"com.microsoft.MatMulIntegerToFloat", matmul_integer_to_float},
      OnnxEntry{"com.microsoft.QGemm", gemm_quantized},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
