// Element types as ONNX numbers them.
#pragma once
#include "ir/tensor_proto.h"

namespace tenon::exporter::onnx {

/// The number in TensorProto.DataType that is read as this dtype.
inline std::int64_t onnx_number(DType dtype) {
  std::int64_t number = 1;
  while (is_narrow(number) || dtype_from_onnx(number) != dtype) ++number;
  return number;
}

}  // namespace tenon::exporter::onnx
