// The queue of a GPU: a stream.
#pragma once
#include "runtime/gpu/gpu.h"
#include "runtime/queue.h"

namespace tenon::gpu {

class GpuQueue : public Queue {
 public:
  /// The GPU must outlive it.
  explicit GpuQueue(Gpu& gpu);
  ~GpuQueue() override;

  Gpu& gpu() { return gpu_; }
  void* stream() { return stream_; }

  int threads() const override { return 1; }
  void copy(void* to, const void* from, std::size_t bytes) override;
  void wait() override;
  std::unique_ptr<StepClock> clock(std::size_t marks) override;
  /// As many as HIP has queues of the hardware for; CUDA has more.
  std::size_t recorded_streams() const override { return 4; }
  /// A graph of the driver.
  std::unique_ptr<CommandList> record(std::span<const StreamPlace> places,
                                      FunctionRef<void(std::size_t piece, Queue&)> enqueue) override;

 private:
  void begin_run() override { gpu_.activate(); }
  void end_run() noexcept override;

  Gpu& gpu_;
  void* stream_ = nullptr;
};

/// The queue that a step of a GPU runs in.
inline GpuQueue& gpu_queue(Queue& queue) { return static_cast<GpuQueue&>(queue); }

}  // namespace tenon::gpu
