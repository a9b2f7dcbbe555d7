// What a GPU can do at most.
#pragma once
#include "kernels/peak.h"
#include "runtime/queue.h"

namespace tenon::gpu {

/// Memory is measured by copies on the device. Arithmetic is what the driver says of it: a multiply-add a
/// clock of each of 128 lanes a multiprocessor.
Peak measure_peak(Queue& queue);

}  // namespace tenon::gpu
