// The inputs of an ONNX model, as its file and the user say.
#pragma once
#include <map>
#include <string>

#include "converter/convert.h"
#include "converter/onnx/model.h"
#include "converter/onnx/values.h"

namespace tenon::converter::onnx {

/// Adds a parameter to the graph for each input that has no weight of its name, and for those that have one
/// and are given a type. Throws Error when a type is missing or does not fit.
std::map<std::string, Operand> make_inputs(const Model&, const ConvertOptions&, Values&);

}  // namespace tenon::converter::onnx
