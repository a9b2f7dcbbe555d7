// From an ONNX model to a graph.
#pragma once
#include <memory>

#include "converter/convert.h"
#include "converter/onnx/model.h"

namespace tenon::converter::onnx {

/// Converts the model's graph. Types of inputs that are not given are those of the file; its names for sizes
/// become symbols. Throws Error: bad input when an input type is missing or does not fit, or the file is
/// damaged; unsupported with one complete list.
std::unique_ptr<Graph> convert(const Model&, const ConvertOptions& = {});

}  // namespace tenon::converter::onnx
