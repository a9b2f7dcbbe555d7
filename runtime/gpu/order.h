// Puts lines of keys in order.
#pragma once
#include "kernels/gpu/order_source.h"
#include "runtime/planner.h"

namespace tenon::gpu {

/// Keys in order, and the numbers (i32) that their elements have in their line. Equal ones keep their order.
struct Ordered {
  PlannedTensor keys, numbers;
};

/// Adds the launches that sort keys, which lie dense: one where a line fits a block, else three for each
/// digit.
Ordered order_keys(Planner&, const PlannedTensor& keys, const OrderSize&);

}  // namespace tenon::gpu
