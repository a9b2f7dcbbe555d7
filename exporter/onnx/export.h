// A graph as an ONNX model.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "exporter/onnx/encode.h"
#include "ir/graph.h"

namespace tenon::exporter {

/// Writes the graph as standard ONNX: operator set 21, no domain but ONNX's own. Sizes that vary are named
/// dims, arithmetic on them is nodes; states are ordinary inputs and outputs. Returns a sentence for each
/// part of the graph that the model omits. Throws Error(unsupported) with the complete list of what ONNX has
/// no form for, and Error when the file cannot be written. For `most` see write_model.
std::vector<std::string> export_onnx(const Graph&, const std::filesystem::path&,
                                     std::size_t most = converter::onnx::most_parsed_bytes);

}  // namespace tenon::exporter
