// What a node of the fused graph stands for in the imported one.
#pragma once
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// The imported nodes between the origins of the node's inputs and those of its outputs, in order. Empty when
/// the outputs equal no imported value.
std::vector<const Node*> replaced_nodes(const Graph& imported, const Node& node);

}  // namespace tenon
