// An ONNX model as a file.
#pragma once
#include <cstddef>
#include <filesystem>

#include "exporter/onnx/message.h"

namespace tenon::exporter::onnx {

/// Protocol Buffers end at 2 GiB.
inline constexpr std::size_t most_bytes = (std::size_t{1} << 31) - 1;

/// Writes the model, whole or not at all. One that would exceed `most` bytes keeps its larger weights in a
/// file beside it, FILE.data. Weights are written one by one.
void write_model(const GraphProto& graph, const std::filesystem::path& path, std::size_t most = most_bytes);

}  // namespace tenon::exporter::onnx
