// Symbols get values: from the shapes of inputs, and into the attributes of operators.
#pragma once
#include <span>

#include "ir/graph.h"

namespace tenon {

/// Values of the graph's symbols that give its parameters these shapes. A dim that is one symbol binds it,
/// one that is linear in a symbol (2*N+1) is solved; all are checked, against the symbols' bounds too. Throws
/// Error naming the input and the dim: "input x has shape [1,4,224,224], the graph expects [N,3,224,224]: dim
/// 1 is 4, not 3".
Bindings bind_symbols(const Graph&, std::span<const Index> shapes);

/// The same for whole inputs, with their dtypes checked.
Bindings bind_inputs(const Graph&, std::span<const Tensor> inputs);

/// The operator with every symbolic attribute replaced by its value. Sizes that a node gives stay symbols
/// where the bindings do not have them.
Op bind(const Op&, const Bindings&);
/// The same for a dim.
Dim bind(const Dim&, const Bindings&);

}  // namespace tenon
