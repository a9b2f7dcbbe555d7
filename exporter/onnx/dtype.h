// Element types as ONNX numbers them.
#pragma once
#include "converter/onnx/element_type.h"

namespace tenon::exporter::onnx {

/// The number in TensorProto.DataType that is read as this dtype.
inline std::int64_t onnx_number(DType dtype) {
  using namespace converter::onnx;
  std::int64_t number = 1;
  while (is_narrow(number) || dtype_from_onnx(number) != dtype) ++number;
  return number;
}

}  // namespace tenon::exporter::onnx
