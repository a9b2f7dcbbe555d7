// Quantised numbers of the standard.
#include <array>

#include "base/error.h"
#include "converter/onnx/convolution.h"
#include "converter/onnx/element_type.h"
#include "converter/onnx/narrow.h"
#include "converter/onnx/quantized.h"
#include "converter/onnx/table.h"
#include "converter/onnx/windows.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

/// A scale or zero point as an operand beside x: one for all, one along an axis, or one for each block of an
/// axis.
Ref beside(const Call& call, const Ref& x, const Ref& v) {
  if (numel(v.shape()) == Dim(1)) return v.rank() == 0 ? v : reshape(v, {});
  const std::int64_t axis = call.axis(x.rank(), 1), block = call.integer("block_size", 0);
  const auto at = static_cast<std::size_t>(axis);
  if (block > 0) {
    if (v.rank() != x.rank()) throw error("a scale of rank {} for a tensor of rank {}", v.rank(), x.rank());
    Shape parts = v.shape(), repeated = v.shape(), whole = v.shape();
    parts.insert(parts.begin() + axis + 1, Dim(1));
    repeated.insert(repeated.begin() + axis + 1, Dim(block));
    whole[at] = whole[at] * Dim(block);
    const Ref all = reshape(expand(reshape(v, parts), repeated), whole);
    return slice(all, axis, Dim(0), x.shape()[at]);
  }
  Shape along(x.rank(), Dim(1));
  along[at] = numel(v.shape());
  return reshape(v, along);
}

/// The type of the result, as the zero point or the attribute says; 0: one that is held as it is.
std::int64_t narrow_result(const Call& call) {
  if (call.has(2)) return call.operand(2).narrow;
  const std::int64_t given = call.integer("output_dtype", 0);
  return is_narrow(given) ? given : 0;
}

/// Whole numbers of few bits have bounds of their own, floats are rounded to their own grid.
Operand quantized_narrow(const Call& call, const Ref& x, const Ref& scale, const Ref& zero,
                         std::int64_t type) {
  const NarrowFormat& format = *narrow_format(type);
  Ref y = cast(DType::f32, x) / cast(DType::f32, scale);
  if (format.is_float()) return narrowed(call, y, type);
  y = round(y);
  if (zero) y = y + cast(DType::f32, zero);
  Operand out(cast(format.is_signed ? DType::i8 : DType::u8,
                   apply(Clamp{.min = format.least(), .max = format.largest()}, {y})));
  out.narrow = type;
  return out;
}

Operands quantize(Call& call) {
  const Ref x = call.tensor(0);
  if (const std::int64_t narrow = narrow_result(call))
    return {quantized_narrow(call, x, beside(call, x, call.tensor(1)),
                             call.has(2) ? beside(call, x, call.tensor(2)) : Ref(), narrow)};
  const DType to = call.has(2) ? call.type(2).dtype : call.dtype("output_dtype", DType::u8);
  const Ref scale = beside(call, x, call.tensor(1));
  return {quantized(x, scale, call.has(2) ? beside(call, x, call.tensor(2)) : Ref(), to)};
}

Operands dequantize(Call& call) {
  const Ref x = call.tensor(0);
  const Ref y =
      dequantized(x, beside(call, x, call.tensor(1)), call.has(2) ? beside(call, x, call.tensor(2)) : Ref());
  return {call.has("output_dtype") && call.integer("output_dtype") != 0 ? cast(call.dtype("output_dtype"), y)
                                                                        : y};
}

Operands quantize_dynamically(Call& call) {
  const Quantized q = quantized_dynamically(call.tensor(0));
  return {q.values, q.scale, q.zero};
}

Operands matmul_integer(Call& call) {
  const Ref a = centred(call.tensor(0), along_rows(call.optional_tensor(2)));
  const Ref b = centred(call.tensor(1), call.optional_tensor(3));
  return {matmul(a, b)};
}

/// Products of 8-bit integers are exact in f64, and so are their sums.
Operands matmul_quantized(Call& call) {
  const Ref a =
      dequantized(call.tensor(0), cast(DType::f32, along_rows(call.tensor(1))), along_rows(call.tensor(2)));
  const Ref b = dequantized(call.tensor(3), cast(DType::f32, call.tensor(4)), call.tensor(5));
  return {quantized(matmul(a, b), call.tensor(6), call.tensor(7), call.type(7).dtype)};
}

/// A zero point for each channel of a weight.
Ref along_filters(const Ref& v, const Ref& weight) {
  if (weight.rank() == 0) throw error("a weight of rank 0");
  if (!v || v.rank() == 0 || v.shape()[0] == Dim(1)) return v;
  Shape shape(weight.rank(), Dim(1));
  shape[0] = v.shape()[0];
  return reshape(v, shape);
}

/// Sums stay below 2^53: exact in f64.
Operands conv_integer(Call& call) {
  const Ref x = call.tensor(0), weight = call.tensor(1);
  const Ref a = cast(DType::f64, centred(x, call.optional_tensor(2)));
  const Ref b = cast(DType::f64, centred(weight, along_filters(call.optional_tensor(3), weight)));
  return {cast(DType::i32, convolved(call, a, b, {}))};
}

Operands conv_quantized(Call& call) {
  const bool is_last = call.integer("channels_last", 0) != 0;
  const Ref weight = call.tensor(3);
  const Ref x = is_last ? channels_first(call.tensor(0)) : call.tensor(0);
  const Ref a = dequantized(x, call.tensor(1), call.tensor(2));
  const Ref w_scale = call.tensor(4);
  const Ref b = dequantized(weight, along_filters(w_scale, weight), along_filters(call.tensor(5), weight));
  Ref bias;
  if (call.has(8)) bias = cast(DType::f32, call.tensor(8)) * (reshape(call.tensor(1), {}) * w_scale);
  const Ref y = convolved(call, a, b, bias);
  const Ref codes = quantized(y, call.tensor(6), call.tensor(7), call.type(7).dtype);
  return {is_last ? channels_last(codes) : codes};
}

}  // namespace

std::span<const OnnxEntry> quantize_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"ConvInteger", conv_integer},
      OnnxEntry{"DequantizeLinear", dequantize},
      OnnxEntry{"DynamicQuantizeLinear", quantize_dynamically},
      OnnxEntry{"MatMulInteger", matmul_integer},
      OnnxEntry{"QLinearConv", conv_quantized},
      OnnxEntry{"QLinearMatMul", matmul_quantized},
      OnnxEntry{"QuantizeLinear", quantize},
      OnnxEntry{"com.microsoft.DequantizeLinear", dequantize},
      OnnxEntry{"com.microsoft.QLinearConv", conv_quantized},
      OnnxEntry{"com.microsoft.QuantizeLinear", quantize},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
