// Which handler serves which ONNX operator: one table a family. What is one to one stands in the definition
// of our operator instead (`from`).
#pragma once
#include <span>
#include <string_view>

#include "converter/onnx/call.h"

namespace tenon::converter::onnx {

using Handler = Operands (*)(Call&);

struct OnnxEntry {
  std::string_view name;  // "Resize"; with its domain when that is not ai.onnx: "com.microsoft.BiasGelu"
  Handler handler;
};

// The tables: a file of this folder that defines one is found by that.
#define FAMILY(name) std::span<const OnnxEntry> name();
#include "converter/onnx/families.def"

/// The outputs when the operator is arithmetic on sizes and its operands are known up to symbols.
std::optional<Operands> run_on_sizes(Call&);

bool is_implemented(std::string_view full_name);
/// The names of all that are.
std::vector<std::string_view> implemented_operators();
/// Throws Error(unsupported) when Tenon has no form for the operator.
Operands run_operator(Call&);

}  // namespace tenon::converter::onnx
