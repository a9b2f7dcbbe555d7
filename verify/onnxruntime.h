// An ONNX model run by ONNX Runtime's Python package.
#pragma once
#include <filesystem>

#include "ir/graph.h"

namespace tenon {

/// The outputs of the ONNX model for these inputs of the graph. Inputs are matched by name where the two call
/// them the same, else by order; outputs by order. Runs $TENON_PYTHON (default: python3) as a child process.
/// Throws Error: no Python, no package (the hint says how to get it), another number of inputs or outputs,
/// whatever ONNX Runtime says.
std::vector<Tensor> onnxruntime_outputs(const std::filesystem::path& model, const Graph&,
                                        std::span<const Tensor> inputs);

}  // namespace tenon
