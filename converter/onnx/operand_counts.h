// How many operands an ONNX operator takes, by its schema.
#pragma once
#include "converter/onnx/call.h"

namespace tenon::converter::onnx {

/// operand_counts.txt: "Name since operands", a line for each operator set in which they change: r for each
/// that is required, o for each that is optional, * when any number may follow. Written by `./dev schemas`.
extern const std::string_view operand_counts_txt;

/// Throws Error when the node has more operands than its operator takes, or lacks one that it requires.
/// Operators without a schema pass.
void check_operand_count(const Call&);

}  // namespace tenon::converter::onnx
