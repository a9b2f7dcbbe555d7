// From a graph with symbolic dims and the inputs of one run to a graph of known sizes.
#pragma once
#include <memory>
#include <span>

#include "ir/graph.h"

namespace tenon {

/// Checks number, dtypes and shapes of the inputs, and gives each symbol its value. Throws Error naming the
/// input, what it is and what the graph expects.
Bindings bind_inputs(const Graph& graph, std::span<const Tensor> inputs);

/// A copy of the graph in which every dim of types and attributes is a known integer. Weight data is shared.
std::unique_ptr<Graph> specialize(const Graph& graph, const Bindings& bindings);

}  // namespace tenon
