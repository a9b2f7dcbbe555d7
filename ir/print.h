// The text form of a graph. ir/parse.h reads it back; docs/ir.md describes it.
#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace tenon {

struct PrintOptions {
  bool weights = true;  // the declarations of the weights; without them the text is for reading only
  bool sources = true;  // module paths behind '#'
  bool lines = false;   // and the Python line
  bool bodies = true;   // of branches and loops; without them the text is for reading only
};

/// The whole graph.
std::string print(const Graph&, PrintOptions = {});
/// One node as it stands in the graph's text (names of results are taken from their order in the graph).
std::string print(const Graph&, const Node&, PrintOptions = {});
/// The same for each node of the body, in order.
std::vector<std::string> print_nodes(const Graph&, PrintOptions = {});
/// The same for these nodes of the graph, in linear time; empty texts for null.
std::vector<std::string> print_nodes(const Graph&, std::span<const Node* const>, PrintOptions = {});
/// The operator with its attributes: "conv(stride=2, pad=3)".
std::string print(const Op&);
/// Names of the graph's values as print() writes them: "%x", "%12", "@fc.weight".
std::unordered_map<const Value*, std::string> value_names(const Graph&);

}  // namespace tenon
