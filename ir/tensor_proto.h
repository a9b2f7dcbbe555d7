// ONNX's file of one tensor: a serialized TensorProto, as in test_data_set_0/input_0.pb.
// Source: onnx.proto (message TensorProto) and the protobuf wire format.
#pragma once
#include <filesystem>
#include <span>
#include <string>

#include "ir/named_tensor.h"

namespace tenon {

/// Reads raw and typed data of every dtype that Tenon has. Throws Error when the bytes are damaged or do not
/// fill the shape; unsupported for strings, float8, 4-bit types and data kept in another file.
NamedTensor parse_tensor_proto(std::span<const std::byte> bytes);

/// The same for a file, which the Error names.
NamedTensor load_tensor_proto(const std::filesystem::path& path);

}  // namespace tenon
