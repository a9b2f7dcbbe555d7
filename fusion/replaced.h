// What fusion made of a graph: which nodes each fused node replaced.
#pragma once
#include <unordered_map>

#include "ir/graph.h"

namespace tenon {

/// Maps each node of the imported body to the node of the fused body that computes its result now. A fused
/// node owns the imported nodes between its results and its operands; Value::origin names these values in the
/// imported graph. A node that nothing needs any more has no owner. A node that several fused nodes need
/// belongs to the first of them.
std::unordered_map<const Node*, const Node*> replaced_nodes(const Graph& imported, const Graph& fused);

/// The imported nodes that one node of the fused body replaced, in order.
std::vector<const Node*> replaced_nodes(const Graph& imported, const Node& fused);

}  // namespace tenon
