// Which convolutions sum integers.
#pragma once
#include "runtime/planner.h"

namespace tenon {

/// True for a group which byte_conv.cpp computes: kernels of float32 leave it alone, so that no copy of its
/// filters in float32 is made.
bool has_byte_kernel(const Planner& planner, const Group& group);

}  // namespace tenon
