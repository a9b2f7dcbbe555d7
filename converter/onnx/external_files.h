// The files beside an ONNX model that hold its weights.
#pragma once
#include <set>
#include <string>

#include "converter/onnx/model.h"

namespace tenon::converter::onnx {

/// The files that the model's tensors name, relative to its folder. Includes tensors that nothing uses.
std::set<std::string> external_files(const Model&);

}  // namespace tenon::converter::onnx
