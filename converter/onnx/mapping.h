// ONNX operators that an operator definition names itself (`from`): served without code here.
#pragma once
#include "converter/onnx/call.h"
#include "ir/op.h"

namespace tenon::converter::onnx {

struct OnnxMapping {
  const OpInfo* op;
  std::vector<std::pair<std::string, std::string>> attributes;  // attribute of ours = attribute of ONNX's
};

/// The definition that names the operator; null when there is none.
const OnnxMapping* find_mapping(std::string_view name);
/// The operands in their order; axes are normalised. Throws Error(unsupported) for an attribute that the
/// definition does not name.
Operands run_mapping(const OnnxMapping&, const Call&);

/// Operands of a pointwise operator, which must be given `least`: a constant of one element is a literal
/// where that broadcasts to the same shape.
std::vector<Ref> pointwise_operands(const Call&, std::size_t least);

}  // namespace tenon::converter::onnx
