// The messages of an ONNX model that an exporter fills: names are those of onnx.proto.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/named_tensor.h"
#include "ir/source.h"
#include "ir/type.h"

namespace tenon::exporter::onnx {

struct GraphProto;

struct AttributeProto {
  std::string name;
  std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::shared_ptr<GraphProto>>
      value;
};

struct NodeProto {
  std::string op_type;
  std::vector<std::string> input, output;
  std::vector<AttributeProto> attribute;
  Source source;
};

struct ValueInfoProto {
  std::string name;
  Type type;
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> node;
  std::vector<NamedTensor> initializer;
  std::vector<ValueInfoProto> input, output;
};

/// Operator set 21 is the first whose GroupNormalization means what PyTorch's does, and the last whose
/// kernels ONNX Runtime has all of; version 10 of the format belongs to it.
inline constexpr std::int64_t opset = 21, ir_version = 10;

}  // namespace tenon::exporter::onnx
