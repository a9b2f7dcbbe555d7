// An ONNX model as a file.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

#include "ir/tensor.h"

namespace tenon::converter::onnx {
class GraphProto;
}

namespace tenon::exporter::onnx {

using converter::onnx::GraphProto;

/// Operator set 21 is the first whose GroupNormalization means what PyTorch's does, and the last whose
/// kernels ONNX Runtime has all of; version 10 of the format belongs to it.
inline constexpr std::int64_t opset = 21, ir_version = 10;

/// A graph whose initializers lack their data, and these, in the same order.
struct WrittenGraph {
  std::shared_ptr<GraphProto> graph;
  std::vector<Tensor> data;
};

/// Protocol Buffers end at 2 GiB.
inline constexpr std::size_t most_bytes = (std::size_t{1} << 31) - 1;

/// Writes the model, whole or not at all. One that would exceed `most` bytes keeps its larger weights in a
/// file beside it, FILE.data. Weights are written one by one.
void write_model(WrittenGraph, const std::filesystem::path& path, std::size_t most = most_bytes);

}  // namespace tenon::exporter::onnx
