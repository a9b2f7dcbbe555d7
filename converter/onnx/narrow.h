// Types of less than 16 bits: what a value becomes in them. They are held in wider dtypes
// (element_type.h).
#pragma once
#include "converter/onnx/call.h"

namespace tenon::converter::onnx {

/// The nearest value of the type with this number in TensorProto.DataType, as Cast gives it (its attribute
/// saturate says what becomes of what is too large).
Operand narrowed(const Call&, const Ref& x, std::int64_t type);

}  // namespace tenon::converter::onnx
