// From bytes to the message of an ONNX model.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace google::protobuf {
template <class T>
class RepeatedPtrField;
}

namespace tenon::converter::onnx {

class ModelProto;
class OperatorSetIdProto;

/// Unknown fields are skipped; every text is UTF-8; ONNX's own domain is "". Tensors lack their data (cut.h).
/// Throws Error when the bytes are damaged or nest too deeply.
void decode_model(std::span<const std::byte>, ModelProto&);

using OperatorSets = google::protobuf::RepeatedPtrField<OperatorSetIdProto>;
/// The version that the list gives to the domain.
std::optional<std::int64_t> version_of(const OperatorSets&, std::string_view domain);

}  // namespace tenon::converter::onnx
