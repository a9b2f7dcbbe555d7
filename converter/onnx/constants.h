// Attributes that are lists, as constants of rank 1.
#pragma once
#include "converter/onnx/call.h"

namespace tenon::converter::onnx {

Tensor vector_of(const std::vector<std::int64_t>& values);  // i64
Tensor vector_of(const std::vector<float>& values);
Tensor vector_of(const std::vector<std::string>& values);

/// As a value of the graph.
Ref constant(const Call& call, Tensor data, std::string_view name);

}  // namespace tenon::converter::onnx
