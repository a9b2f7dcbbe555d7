// Whether two models are one: the same numbers, the same fused graph.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// For each of b's inputs the one of a's: of its name, or in order where the names are others. Throws Error
/// naming the inputs when they are not as many, or differ in dtype, rank or a fixed size.
std::vector<std::size_t> match_inputs(const Graph& a, const Graph& b);
/// The same for outputs.
std::vector<std::size_t> match_outputs(const Graph& a, const Graph& b);

/// Where two graphs part: a node of each, or what differs beside nodes.
struct GraphDifference {
  std::string why;               // "the operators differ", "the weights @a and @b differ"
  std::string a, b;              // the nodes
  std::string place_a, place_b;  // their modules and source lines
};

/// Compares from the outputs down to the inputs, up to names and the order of independent nodes; weights are
/// compared by content. Both graphs must be of known sizes (specialize). nullopt: they are the same.
std::optional<GraphDifference> first_difference(const Graph& a, const Graph& b,
                                                const std::vector<std::size_t>& inputs,
                                                const std::vector<std::size_t>& outputs);

}  // namespace tenon
