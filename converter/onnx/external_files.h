// The files beside an ONNX model that hold its weights.
#pragma once
#include <set>
#include <string>

#include "converter/onnx/model.h"

namespace tenon::converter::onnx {

/// The places that the model's tensors name, relative to its folder; of all of them, also those that nothing
/// uses.
std::set<std::string> external_files(const Model&);

}  // namespace tenon::converter::onnx
