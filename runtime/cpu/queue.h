// The CPU's queue: a pool of threads that run a step while it is enqueued.
#pragma once
#include <cstring>

#include "kernels/schedule.h"
#include "runtime/queue.h"

namespace tenon {

class CpuStep;
struct Frame;

class CpuQueue : public Queue {
 public:
  explicit CpuQueue(int threads) : pool_(threads) {}

  ThreadPool& pool() { return pool_; }
  /// The threads that compute a step which runs by this schedule.
  ThreadPool& pool_of(const Schedule& schedule) {
    return schedule.threads == Schedule::Team::one ? alone_ : pool_;
  }
  virtual void enqueue(const CpuStep&, const Frame&);
  int threads() const override { return pool_.threads(); }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void wait() override {}
  std::unique_ptr<StepClock> clock(std::size_t marks) override;

 private:
  void begin_run() override { pool_.begin_run(); }
  void end_run() noexcept override { pool_.end_run(); }

  ThreadPool pool_;
  ThreadPool alone_{1};
};

/// The queue that a step of the CPU runs in.
inline CpuQueue& cpu_queue(Queue& queue) { return static_cast<CpuQueue&>(queue); }

}  // namespace tenon
