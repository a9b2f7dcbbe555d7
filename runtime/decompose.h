// Nodes that no kernel computes as a whole, in their parts.
#pragma once
#include "ir/graph.h"

namespace tenon {

/// A fused group or a composite operator.
bool has_parts(const Node& node);
/// Replaces a fused group by its members, where one is an anchor by that and groups of the pointwise
/// operators before and behind it; a composite operator by a fused group of its parts. Returns the first of
/// the new nodes (or the next one, when there are none). The node must have parts.
Node* decompose(Node& node);
/// Replaces the composite operators of a region by their parts, down to operators that are none.
void decompose_composites(Region& region);

}  // namespace tenon
