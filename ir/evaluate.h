// The reference interpreter: plain, slow, obviously right. Every faster way to run a graph is compared with
// it.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// Called after each node with its outputs.
using Observer = std::function<void(const Node&, std::span<const Tensor>)>;

/// The outputs of a graph for inputs in the order of its parameters. Symbols are bound from the inputs'
/// shapes. Tensors are freed after their last use. Throws Error when the inputs do not fit the graph, and for
/// what depends on the data (an index out of range), with the node's source.
std::vector<Tensor> evaluate(const Graph&, std::span<const Tensor> inputs, const Observer& = {});

/// The values of all symbols when the graph runs on these inputs: bind_inputs', and the sizes that nodes of
/// its body give, for which it is evaluated.
Bindings bind_all(const Graph&, std::span<const Tensor> inputs);

/// The results of a region for values of its parameters, under bindings of the symbols.
std::vector<Tensor> evaluate(const Region&, std::span<const Tensor> inputs, const Bindings&,
                             const Observer& = {});

/// The outputs of one operator: kernels by their reference, pointwise operators by their expression,
/// composites by their decomposition. The operator's attributes must be known. Not for operators with
/// regions: see the next.
std::vector<Tensor> evaluate(const Op&, std::span<const Tensor> inputs);

/// The outputs of one node, with its regions, under bindings of the symbols.
std::vector<Tensor> evaluate(const Node&, std::span<const Tensor> inputs, const Bindings& = {},
                             const Observer& = {});
/// The same with other ways to run its regions. Sizes that the node gives are 0 in what these are told.
std::vector<Tensor> evaluate(const Node&, std::span<const Tensor> inputs, const Bindings&,
                             std::span<const RegionFunction> regions);

}  // namespace tenon
