// The arithmetic of a step's body, counted by primitive.
#pragma once
#include "ir/graph.h"
#include "runtime/cost/features.h"

namespace tenon {

/// Adds what the node computes for one element: of a fused group with its composite operators in their parts.
/// Kernels of their own (products, sorts) count as operators only.
void put_primitives(Features& features, const Node& node);

}  // namespace tenon
