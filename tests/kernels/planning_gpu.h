// A GPU that exists as far as the planner asks: graphs become launches on it, which nothing runs.
#pragma once
#include "runtime/device.h"

namespace tenon::gpu {

/// With waves of so many lanes: 32 or 64.
const Device& planning_gpu(int wave);
/// With waves of 32, and a driver that describes matrices to bulk copies.
const Device& planning_gpu_with_bulk_copies();

}  // namespace tenon::gpu
