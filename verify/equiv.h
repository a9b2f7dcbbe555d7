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

/// How two graphs compare, from the outputs down to the first node that differs.
struct GraphComparison {
  std::optional<GraphDifference> difference;
  /// What is not the same and does not part them, by kind.
  std::int64_t near_weights = 0;  // weights and numbers that differ in their last bits
  double last_bits = 0;           // the largest such difference, as a share of the largest element
  std::int64_t from_the_end = 0;  // indices that one side counts from the end where they are negative

  bool alike() const { return !difference; }
  bool same() const { return alike() && near_weights == 0 && from_the_end == 0; }
  /// "weights or numbers in their last bits (3, at most 1.2e-07); ..."; empty when nothing of the kind was
  /// met.
  std::string but_for() const;
};

/// Compares up to names and the order of independent nodes; weights are compared by content. Both graphs must
/// be of known sizes (specialize).
GraphComparison compare_graphs(const Graph& a, const Graph& b, const std::vector<std::size_t>& inputs,
                               const std::vector<std::size_t>& outputs);

}  // namespace tenon
