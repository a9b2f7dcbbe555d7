// The CPU's queue: a pool of threads that run a step while it is enqueued.
#pragma once
#include "runtime/queue.h"

namespace tenon {

class CpuQueue : public Queue {
 public:
  explicit CpuQueue(int threads) : pool_(threads) {}

  ThreadPool& pool() { return pool_; }
  int threads() const override { return pool_.threads(); }
  void wait() override {}
  std::unique_ptr<StepClock> clock(std::size_t marks) override;

 private:
  void begin_run() override { pool_.begin_session(); }
  void end_run() override { pool_.end_session(); }

  ThreadPool pool_;
};

/// Of the queue that a step of the CPU runs in.
inline ThreadPool& pool_of(Queue& queue) { return static_cast<CpuQueue&>(queue).pool(); }

}  // namespace tenon
