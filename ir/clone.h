// Deep copies of graphs, as they are or for known sizes.
#pragma once
#include <memory>

#include "ir/graph.h"

namespace tenon {

/// Nodes, regions, symbols, origins; weight data is shared.
std::unique_ptr<Graph> clone(const Graph&);

/// The same with every dim of types and attributes known: symbols take their values and are gone.
std::unique_ptr<Graph> specialize(const Graph&, const Bindings&);

}  // namespace tenon
