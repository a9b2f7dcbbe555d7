// From bytes to the messages of an ONNX model.
#pragma once
#include "converter/onnx/proto.h"

namespace tenon::converter::onnx {

/// Unknown fields are skipped. Throws Error when the bytes are damaged or nest too deeply.
ModelProto decode_model(std::span<const std::byte>);

}  // namespace tenon::converter::onnx
