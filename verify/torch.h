// Runs the source model in LibTorch with our tensors.
#pragma once
#include "converter/convert.h"
#include "converter/torch_runner.h"
#include "ir/graph.h"

namespace tenon {

Tensor to_tensor(const RawTensor&);
RawTensor to_raw(const Tensor&);

/// The inputs under the names that the graph gives them, without states.
std::vector<NamedRawTensor> named_inputs(const Graph&, std::span<const Tensor> inputs);

/// The numbers and strings among what was given by name, which the conversion of the graph fixed and its
/// source must be given too: a string as its bytes.
std::vector<NamedRawTensor> fixed_numbers(const Graph&, std::span<const InputSpec>);

/// The source model's outputs in LibTorch, in the graph's order; undefined for states, which LibTorch keeps
/// to itself from call to call. Throws Error when the outputs do not match the graph's by name.
std::vector<Tensor> torch_outputs(TorchRunner&, const Graph&, std::span<const Tensor> inputs,
                                  const std::string& method = "forward");

}  // namespace tenon
