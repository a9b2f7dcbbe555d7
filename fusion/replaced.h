// What fusion made of a graph: which nodes each fused node replaced.
#pragma once
#include <unordered_map>

#include "ir/graph.h"

namespace tenon {

/// For nodes of the imported body, the node of the fused body that computes in their place: the one that they
/// lie behind, on the way back from its results to its operands (Value::origin tells which values these are).
/// Nodes whose results nothing needs any more have none. Each belongs to one at most: the first that needs
/// it.
std::unordered_map<const Node*, const Node*> replaced_nodes(const Graph& imported, const Graph& fused);

/// The imported nodes in whose place one node of the fused body computes, in order.
std::vector<const Node*> replaced_nodes(const Graph& imported, const Node& fused);

}  // namespace tenon
