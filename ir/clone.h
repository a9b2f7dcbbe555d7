// Deep copies of graphs, as they are, for known sizes or in double precision.
#pragma once
#include <memory>
#include <span>

#include "ir/graph.h"

namespace tenon {

/// Nodes, regions, symbols, origins; weight data is shared.
std::unique_ptr<Graph> clone(const Graph&);

/// A region alone: its parameters are the inputs, with the weights that it uses.
std::unique_ptr<Graph> region_graph(const Region&);

/// Nodes of a body alone, in their order: values that they need from elsewhere are the inputs (which are
/// named by their numbers), with the weights that they use.
std::unique_ptr<Graph> part_graph(const Graph&, std::span<const Node* const> nodes,
                                  std::span<const Value* const> inputs,
                                  std::span<const Value* const> outputs);

/// The same with the dims of types and attributes known: symbols take their values and are gone, except for
/// sizes that nodes give and the bindings do not have.
std::unique_ptr<Graph> specialize(const Graph&, const Bindings&);

/// The same computed in double precision: every float type, weight, literal and dtype attribute is f64
/// (complex: c128), casts between floats are none. What rounding does to a graph is how far it is from this.
std::unique_ptr<Graph> in_float64(const Graph&);

}  // namespace tenon
