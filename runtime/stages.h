// Plans of graphs in which nodes give sizes while they run (ir/data_size.h).
#pragma once
#include "runtime/open_device.h"
#include "runtime/plan.h"

namespace tenon {

/// The body is cut at the nodes that give sizes. Each part becomes a step that plans it anew for every
/// sizes it has not met yet, and keeps these plans; each such node becomes a step that evaluates it. The
/// sizes of the inputs must be known. The device must outlive the plan.
std::unique_ptr<const Plan> plan_stages(std::unique_ptr<Graph>, OpenDevice&);

}  // namespace tenon
