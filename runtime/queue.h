// Where the steps of a device run, one after the other.
#pragma once
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "kernels/function_ref.h"
#include "kernels/thread_pool.h"

namespace tenon {

/// Says when the steps of a run were done.
class StepClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  virtual ~StepClock() = default;
  /// Behind everything that was enqueued so far.
  virtual void mark() = 0;
  /// Waits for the marks; their times in order.
  virtual std::vector<TimePoint> times() = 0;
  /// What the threads of the queue did in shared loops since the clock was made.
  virtual std::vector<WorkSpan> threads() = 0;
};

/// Where a piece of work runs that is recorded together with others, which are numbered in their order: after
/// the one before it in its stream, and after some of other streams.
struct StreamPlace {
  std::size_t stream = 0;
  std::vector<std::size_t> after = {};  // numbers of pieces
};

/// What was enqueued once and can be enqueued again as a whole, at the same addresses.
class CommandList {
 public:
  virtual ~CommandList() = default;
  virtual void replay() = 0;
};

/// Safe to use from several threads at once; each sees its own steps in order.
class Queue {
 public:
  Queue() = default;
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Threads of the host that share the work of a step.
  virtual int threads() const = 0;
  /// Enqueues a copy between memory of any space. Memory of the host must stay as it is until it is done.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Returns when all that this thread enqueued is done. Throws what made it fail.
  virtual void wait() = 0;
  /// With room for so many marks.
  virtual std::unique_ptr<StepClock> clock(std::size_t marks) = 0;

  /// How many streams record() runs beside each other; 0: it records nothing.
  virtual std::size_t recorded_streams() const { return 0; }
  /// For each place: what `enqueue` puts into the queue that it is given, instead of doing it: kernels, and
  /// copies between memory of the device and pinned memory. It waits for nothing. Pieces that no place orders
  /// may run at the same time. Null where that cannot be recorded.
  virtual std::unique_ptr<CommandList> record(std::span<const StreamPlace> /*places*/,
                                              FunctionRef<void(std::size_t piece, Queue&)> /*enqueue*/) {
    return nullptr;
  }

  /// While one lives, the device stays ready between steps. In the end, all that was enqueued is done.
  class Run {
   public:
    explicit Run(Queue& queue) : queue_(queue) { queue_.begin_run(); }
    ~Run() { queue_.end_run(); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    Queue& queue_;
  };

 private:
  virtual void begin_run() = 0;
  virtual void end_run() noexcept = 0;
};

}  // namespace tenon
