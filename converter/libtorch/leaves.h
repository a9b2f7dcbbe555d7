// Between a method's arguments and results, and the flat list of named tensors of the protocol.
#pragma once
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "converter/libtorch/channel.h"

namespace tenon::libtorch {

/// The arguments after self, built from leaves as converter/torch_runner.h describes. Tensors are cloned, so
/// that a method that writes into its input leaves the leaves alone.
std::vector<c10::IValue> arguments_from(const c10::FunctionSchema& schema,
                                        const std::vector<NamedAtTensor>& leaves);

/// The leaves of a result: "out", "out.0", "out.logits". None and strings are left out.
std::vector<NamedAtTensor> leaves_of(const c10::IValue& result);

}  // namespace tenon::libtorch
