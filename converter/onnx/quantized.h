// Quantised numbers: integers that stand for (integer - zero point) * scale. A zero point may be missing.
#pragma once
#include "converter/onnx/call.h"

namespace tenon::converter::onnx {

/// Real numbers of the scale's dtype; scale and zero point broadcast as they are.
Ref dequantized(const Ref& x, const Ref& scale, const Ref& zero);
/// round(x / scale) + zero, within the bounds of the dtype; in f32.
Ref quantized(const Ref& x, const Ref& scale, const Ref& zero, DType to);

/// Integers without their zero point, exact in i32.
Ref centred(const Ref& x, const Ref& zero);
/// A scale or zero point for each row of a matrix stands along its last axis but one.
Ref along_rows(const Ref& v);

struct Quantized {
  Ref values, scale, zero;
};
/// To u8, by the range of the data and 0.
Quantized quantized_dynamically(const Ref& x);

/// An operand, its scale and its zero point, at places i, i + 1 and i + 2, as real numbers; one scale for
/// all.
Ref real_operand(const Call&, std::size_t i);
/// Quantised by the scale and zero point at places i and i + 1; to `other` where the zero point is missing.
Operands quantized_result(const Call&, const Ref& y, std::size_t i, DType other);

}  // namespace tenon::converter::onnx
