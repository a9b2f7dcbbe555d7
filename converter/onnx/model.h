// An ONNX model as it was read: protobuf's message, and the files its tensors lie in.
#pragma once
#include <filesystem>
#include <memory>

#include "converter/onnx/tensor_proto.h"

namespace tenon::converter::onnx {

class ModelProto;
class SparseTensorProto;
class TensorProto;

struct Model {
  /// An empty message on an arena of its own.
  Model();

  std::filesystem::path path;
  /// Texts are UTF-8; ONNX's own domain is "". Tensors lack their data (cut.h).
  std::shared_ptr<ModelProto> proto;

  std::shared_ptr<const void> file;  // keeps the bytes
  std::span<const std::byte> bytes;
  ExternalReader external;

  /// Throws Error.
  Tensor tensor(const TensorProto&) const;
  /// With its zeros.
  Tensor tensor(const SparseTensorProto&) const;
};

}  // namespace tenon::converter::onnx
