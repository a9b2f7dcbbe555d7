// A graph in Graphviz's language.
#pragma once
#include <string>

#include "ir/graph.h"

namespace tenon {

/// Boxes are nodes, arrows values. With `fused`, what one of its nodes replaced stands in a cluster under the
/// name of its operators; without, fused nodes are the clusters and their members the boxes. What an if or a
/// loop runs is a cluster, too; dashed arrows are its results.
std::string dot(const Graph&, const Graph* fused = nullptr);

}  // namespace tenon
