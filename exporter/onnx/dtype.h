// Element types as ONNX numbers them.
#pragma once
#include "converter/onnx/element_type.h"

namespace tenon::exporter::onnx {

/// These are read as f16 (converter/onnx/element_type.h).
inline std::int64_t number_of_float8(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3fn: return 17;
    case DType::f8e4m3fnuz: return 18;
    case DType::f8e5m2: return 19;
    default: return 20;
  }
}

/// The number in TensorProto.DataType that is read as this dtype.
inline std::int64_t onnx_number(DType dtype) {
  using namespace converter::onnx;
  if (is_float8(dtype)) return number_of_float8(dtype);
  std::int64_t number = 1;
  while (is_narrow(number) || dtype_from_onnx(number) != dtype) ++number;
  return number;
}

}  // namespace tenon::exporter::onnx
