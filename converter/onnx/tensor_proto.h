// ONNX's form of a tensor: a TensorProto, as in test_data_set_0/input_0.pb and inside models.
// Source: onnx.proto (message TensorProto).
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ir/named_tensor.h"

namespace tenon::converter::onnx {

/// Where a tensor's data is when its message does not hold it.
struct ExternalData {
  std::string location;  // relative to the model's folder
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};
/// The bytes of external data, with their owner. Throws Error.
using ExternalReader = std::function<Storage(const ExternalData&)>;

/// Reads raw, typed and, with a reader for it, external data of every dtype that Tenon has. Aligned raw data
/// with an owner is not copied. Throws Error when the bytes are damaged or do not fill the shape; unsupported
/// without a reader for data kept in another file.
NamedTensor parse_tensor_proto(std::span<const std::byte> bytes, std::shared_ptr<const void> owner = {},
                               const ExternalReader& external = {});

/// The same for a file, which the Error names.
NamedTensor load_tensor_proto(const std::filesystem::path& path);

}  // namespace tenon::converter::onnx
