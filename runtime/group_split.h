// Fused groups in two parts, each of which is a group of its own.
#pragma once
#include <string>
#include <vector>

#include "runtime/group.h"

namespace tenon {

/// A place to cut a group: the members before one of them are the first part, the others the second.
struct GroupSplit {
  std::size_t before = 0;  // the number of the second part's first member
  std::string name;        // "split before relu"; of several relu the second one: "split before relu 2"
  double bytes = 0;        // that the parts move through memory and the whole does not
};

/// The few places where a cut costs least memory traffic, the least first; of equal ones those beside what is
/// not pointwise (a product, a reduction). None for a plain node.
std::vector<GroupSplit> splits_of(const Group&);

/// Replaces a fused group by its two parts, which compute the same operators in the same order; a part of one
/// member is that node. Returns the first node of them.
Node* split_group(Node& group, std::size_t before);

}  // namespace tenon
