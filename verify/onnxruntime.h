// An ONNX model run by ONNX Runtime's Python package.
#pragma once
#include <filesystem>

#include "base/error.h"
#include "converter/torch_runner.h"
#include "ir/graph.h"

namespace tenon {

struct OnnxRuntimeError : Error {
  using Error::Error;
  bool refuses_model = false;  // it is no valid model to it, rather than one with an operator that it lacks
};

/// The outputs of the ONNX model for these inputs of the graph and the numbers that its conversion fixed.
/// Inputs are matched by name where the two call them the same, else by order; outputs by order, with the
/// items of sequences and the keys and values of dictionaries one by one. A child process runs it
/// (verify/run_onnx.py, verify/python.h).
/// Throws OnnxRuntimeError: no Python, no package (the hint says how to get it), another number of inputs or
/// outputs, whatever ONNX Runtime says.
std::vector<Tensor> onnxruntime_outputs(const std::filesystem::path& model, const Graph&,
                                        std::span<const Tensor> inputs,
                                        std::span<const NamedRawTensor> fixed = {});

}  // namespace tenon
