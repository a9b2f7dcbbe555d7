// Turning nodes of a region into one fused node, and looking into it.
#pragma once
#include <map>
#include <span>
#include <string>

#include "ir/graph.h"

namespace tenon {

/// Replaces members (nodes of one region, in order) by one fused node at the place of the last. Operands are
/// the outside values in the order of their first use; literals move into the body; outputs are the members'
/// results used outside, in order. No outside node between the members may use a member's result.
Node* outline(std::span<Node* const> members);

/// The operators of a fused body: "conv+add+relu".
std::string group_text(const Node& fused);

/// The kind under which a node is counted: "conv", or "fused conv+add+relu" for a group.
std::string kind_of(const Node&);
/// How many nodes of each kind the graph has, in its body and in the regions of if and loop.
std::map<std::string, int> count_kinds(const Graph&);

}  // namespace tenon
