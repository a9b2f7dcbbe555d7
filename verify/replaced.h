// What a node of the fused graph stands for in the imported one.
#pragma once
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// The imported nodes, in order, that lead to the origins of the node's outputs from values that other nodes
/// of its region still compute. Empty when the outputs equal no imported value.
std::vector<const Node*> replaced_nodes(const Graph& imported, const Node& node);

}  // namespace tenon
