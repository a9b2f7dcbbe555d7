// Takes the data of tensors out of an ONNX file before protobuf parses it: weights are never copied, and
// files may be larger than the 2 GiB that protobuf parses.
#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <span>

namespace tenon::converter::onnx {

class ContainerProto;
class ModelProto;
class TensorProto;

using Bytes = std::span<const std::byte>;

/// Of a message, as far as protobuf parses it.
inline constexpr std::size_t most_parsed_bytes = std::numeric_limits<int>::max() - 64;

/// Parses the bytes of a file. Its tensors lack their data and have file_offset and file_size, where their
/// messages stand in it. Throws Error when the bytes are damaged or nest too deeply.
void parse_without_data(Bytes file, ModelProto&);
void parse_without_data(Bytes file, ContainerProto&);

/// The message of one of these tensors, whole.
Bytes message_of(Bytes file, const TensorProto&);
/// Parses the message of one tensor but for its raw_data: where these stand in it, nullopt when it has none.
std::optional<Bytes> parse_around_raw_data(Bytes message, TensorProto&);

}  // namespace tenon::converter::onnx
