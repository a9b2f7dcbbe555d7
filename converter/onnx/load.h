// ONNX files: the model and the files its weights may lie in.
#pragma once
#include "converter/onnx/model.h"

namespace tenon::converter::onnx {

/// Maps the file. Throws Error when it is damaged, or no model that Tenon can read.
Model load(const std::filesystem::path&);

}  // namespace tenon::converter::onnx
