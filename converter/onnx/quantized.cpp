#include "converter/onnx/quantized.h"

#include "base/error.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

struct Bounds {
  double low, high;
};
Bounds bounds_of(DType t) {
  switch (t) {
    case DType::i8: return {-128, 127};
    case DType::u8: return {0, 255};
    case DType::i16: return {-32768, 32767};
    case DType::u16: return {0, 65535};
    default: throw unsupported("numbers quantised to {}", name(t));
  }
}

Axes all_axes(const Ref& x) {
  Axes axes;
  for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

/// One scale or zero point for all, whatever its rank.
Ref one_for_all(const Ref& v) {
  if (!v || v.rank() == 0) return v;
  if (!(numel(v.shape()) == Dim(1))) throw unsupported("a scale or zero point {}", v.type().str());
  return reshape(v, {});
}

}  // namespace

Ref quantized(const Ref& x, const Ref& scale, const Ref& zero, DType to) {
  Ref y = round(cast(DType::f32, x) / cast(DType::f32, scale));
  if (zero) y = y + cast(DType::f32, zero);
  const Bounds b = bounds_of(to);
  return cast(to, apply(Clamp{.min = b.low, .max = b.high}, {y}));
}

Ref dequantized(const Ref& x, const Ref& scale, const Ref& zero) {
  const Ref wide = cast(DType::f32, x);
  const Ref from_zero = zero ? wide - cast(DType::f32, zero) : wide;
  return cast(scale.dtype(), from_zero * cast(DType::f32, scale));
}

Quantized quantized_dynamically(const Ref& x) {
  const Ref zero = x.literal(0);
  const Ref low = minimum(amin(x, all_axes(x)), zero), high = maximum(amax(x, all_axes(x)), zero);
  const Ref range = high - low;
  const Ref scale = where(equal(range, zero), range.literal(1), range / 255.0);
  const Ref place = cast(DType::u8, apply(Clamp{.min = 0, .max = 255}, {round((zero - low) / scale)}));
  return {quantized(x, scale, place, DType::u8), scale, place};
}

Ref centred(const Ref& x, const Ref& zero) {
  const Ref wide = cast(DType::i32, x);
  return zero ? wide - cast(DType::i32, zero) : wide;
}

Ref along_rows(const Ref& v) {
  if (!v || v.rank() != 1 || v.shape()[0] == Dim(1)) return v;
  return reshape(v, {v.shape()[0], Dim(1)});
}

Ref real_operand(const Call& call, std::size_t i) {
  return dequantized(call.tensor(i), one_for_all(call.tensor(i + 1)),
                     one_for_all(call.optional_tensor(i + 2)));
}

Operands quantized_result(const Call& call, const Ref& y, std::size_t i, DType other) {
  const Ref zero = one_for_all(call.optional_tensor(i + 1));
  return {quantized(y, one_for_all(call.tensor(i)), zero, zero ? zero.dtype() : other)};
}

}  // namespace tenon::converter::onnx
