// Whether two models are equivalent: the same numbers, the same fused graph.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// Maps each input of b to an input of a: by name, or by order when the names differ. Throws Error that names
/// the inputs when their numbers differ, or a dtype, a rank or a fixed size.
std::vector<std::size_t> match_inputs(const Graph& a, const Graph& b);
/// The same for outputs.
std::vector<std::size_t> match_outputs(const Graph& a, const Graph& b);

/// The first difference of two graphs: a node of each, or another property that differs.
struct GraphDifference {
  std::string why;                     // "the operators differ", "the weights @a and @b differ"
  std::string a, b;                    // the nodes
  std::string location_a, location_b;  // their modules and source lines
};

/// How two graphs compare, from the outputs down to the first node that differs.
struct GraphComparison {
  std::optional<GraphDifference> difference;
  /// Differences that are tolerated, by kind.
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
