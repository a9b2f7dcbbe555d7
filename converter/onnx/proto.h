// The messages of an ONNX model, as far as a converter needs them: names are those of onnx.proto. Tensors
// stay bytes of the file until somebody reads them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ir/tensor_proto.h"

namespace tenon::converter::onnx {

/// A TensorProto: what it is called, its type, and its bytes.
struct TensorProto {
  std::string name;
  std::int64_t data_type = 0;
  std::span<const std::byte> bytes;
};

/// A SparseTensorProto: where the values stand, row-major places i64[n] or one row of indices for each i64[n,
/// rank].
struct SparseTensorProto {
  TensorProto values, indices;
  std::vector<std::int64_t> dims;
};

/// One size of a shape: a number, a name, or neither.
struct Dimension {
  std::optional<std::int64_t> value;
  std::string param;
};

struct TypeProto {
  enum class Kind : std::uint8_t {
    none,
    tensor,
    sequence,
    optional,
    map,
    sparse_tensor,
    opaque
  } kind = Kind::none;
  std::int64_t elem_type = 0;                   // of a tensor; of a map: of its keys
  std::optional<std::vector<Dimension>> shape;  // of a tensor; nullopt: any rank
  std::shared_ptr<const TypeProto> inner;       // of a sequence, an optional, a map
};

struct ValueInfoProto {
  std::string name;
  TypeProto type;
};

struct GraphProto;

struct AttributeProto {
  std::string name, ref_attr_name;
  std::int64_t type = 0;
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::optional<TensorProto> t;
  std::optional<SparseTensorProto> sparse_tensor;
  std::shared_ptr<const GraphProto> g;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
};

struct NodeProto {
  std::vector<std::string> input, output;
  std::string name, op_type, domain, overload;
  std::vector<AttributeProto> attribute;
  std::map<std::string, std::string> metadata_props;
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> node;
  std::vector<TensorProto> initializer;
  std::vector<SparseTensorProto> sparse_initializer;
  std::vector<ValueInfoProto> input, output, value_info;
};

/// The version of each operator set, by domain; "ai.onnx" is "".
using Opsets = std::map<std::string, std::int64_t>;

struct FunctionProto {
  std::string name, domain, overload;
  std::vector<std::string> input, output;
  std::vector<std::string> attribute;           // without defaults
  std::vector<AttributeProto> attribute_proto;  // with defaults
  std::vector<NodeProto> node;
  Opsets opset_import;
};

struct ModelProto {
  std::filesystem::path path;
  std::int64_t ir_version = 0;
  Opsets opset_import;
  GraphProto graph;
  std::vector<FunctionProto> functions;

  std::shared_ptr<const void> file;  // keeps the bytes
  ExternalReader external;

  /// Throws Error.
  Tensor tensor(const TensorProto&) const;
  /// With its zeros.
  Tensor tensor(const SparseTensorProto&) const;
};

}  // namespace tenon::converter::onnx
