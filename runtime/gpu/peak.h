// What a GPU can do at most.
#pragma once
#include "kernels/peak.h"
#include "runtime/queue.h"

namespace tenon::gpu {

/// Memory is measured by copies on the device. Arithmetic is what the driver says of it (arithmetic_peak.h).
Peak measure_peak(Queue& queue);

}  // namespace tenon::gpu
