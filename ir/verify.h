// Checks what every graph promises between passes.
#pragma once
#include "ir/graph.h"

namespace tenon {

/// Throws InternalError naming the node when: an operand is not defined above its use or belongs to another
/// region; a recorded use does not match; an operand count is wrong; an output type is not what inference
/// gives; a fused body's parameters or results do not match its node; a weight is used from another graph.
void verify(const Graph&);

}  // namespace tenon
