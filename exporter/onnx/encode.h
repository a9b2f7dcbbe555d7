// An ONNX model as a file.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

#include "converter/onnx/cut.h"
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

/// Writes the model, whole or not at all. One that would exceed `most` bytes keeps its larger weights in a
/// file beside it, FILE.data. Weights are written one by one.
void write_model(WrittenGraph, const std::filesystem::path& path,
                 std::size_t most = converter::onnx::most_parsed_bytes);

}  // namespace tenon::exporter::onnx
