// ONNX's test data: a tensor, a sequence or an optional in a file of its own, which does not say what it is.
// Source: onnx-data.proto (messages SequenceProto, OptionalProto).
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include "ir/named_tensor.h"

namespace tenon::converter::onnx {

struct Model;

/// How many levels of sequences the value of this name has in its model: 0 for a tensor, or an optional one.
/// A sequence of one tensor and an optional that holds one are the same bytes.
using SequenceLevels = std::function<std::size_t(const std::string& name)>;

struct ValueFile {
  std::string name;
  bool is_container = false;  // a sequence or an optional
  std::vector<NamedTensor>
      tensors;  // "x"; of a sequence "x.0", "x.1", as Tenon calls its items; of nothing none
};

/// As a model declares its inputs and outputs.
std::map<std::string, std::size_t> declared_levels(const Model&);

/// Throws Error when the bytes are none of the three, or unsupported when they hold a map or a sparse tensor.
ValueFile load_value_proto(const std::filesystem::path&, const SequenceLevels&);

}  // namespace tenon::converter::onnx
