// Nodes that no kernel computes as a whole, in their parts.
#pragma once
#include "ir/graph.h"

namespace tenon {

/// Replaces a fused group by its members, a composite operator by a fused group of its parts. Returns the
/// first of the new nodes (or the next one, when there are none). Throws Error for any other node.
Node* decompose(Node& node);
/// Replaces the composite operators of a region by their parts, down to operators that are none.
void decompose_composites(Region& region);

}  // namespace tenon
