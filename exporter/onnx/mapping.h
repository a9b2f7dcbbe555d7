// Operators whose definition names the ONNX operator that they are (`from`).
#pragma once
#include "exporter/onnx/writer.h"

namespace tenon::exporter::onnx {

/// Writes the node as the operator that its definition names, or else this signature. False, and nothing is
/// written: there is none, it lacks an attribute that is set, or (unless `any_dtype`) it does not compute in
/// the operands' dtype.
bool write_mapped(OnnxWriter&, const Node&, std::string_view signature, bool any_dtype);

}  // namespace tenon::exporter::onnx
