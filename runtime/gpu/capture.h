// Work of a GPU's stream captured as a graph of the driver, which one call starts.
#pragma once
#include "runtime/gpu/queue.h"

namespace tenon::gpu {

/// What Queue::record promises, for replays in `queue`, which must outlive it. Other threads may use the GPU
/// and the queue meanwhile.
std::unique_ptr<CommandList> capture(GpuQueue& queue, FunctionRef<void(Queue&)> enqueue);

}  // namespace tenon::gpu
