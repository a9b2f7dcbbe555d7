// Work of a GPU's streams captured as a graph of the driver, which one call starts.
#pragma once
#include "runtime/gpu/queue.h"

namespace tenon::gpu {

/// What Queue::record promises, for replays in `queue`, which must outlive it. Other threads may use the GPU
/// and the queue meanwhile.
std::unique_ptr<CommandList> capture(GpuQueue& queue, std::span<const StreamPlace> places,
                                     FunctionRef<void(std::size_t piece, Queue&)> enqueue);

}  // namespace tenon::gpu
