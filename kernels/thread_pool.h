// Threads that share loops: each has a part of the chunks, and helps the others when it is done; the caller
// works too.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/function_ref.h"

namespace tenon {

/// When a thread of a pool worked on a loop without a break; the caller is thread 0.
struct WorkSpan {
  int thread = 0;
  std::chrono::steady_clock::time_point begin, end;
};

/// A pool of `threads - 1` workers plus whoever calls parallel_for.
///
/// Use from several threads at once is safe: one caller has the workers, the others meanwhile run their loops
/// alone, as does a parallel_for inside a parallel_for. Consecutive chunks are a thread's own: what a loop
/// leaves in the cache of a core, the next one reads there. A thread that has none left claims those of
/// others. A worker that the system does not schedule while it holds a chunk delays its loop. Workers
/// therefore yield between chunks, and where another program takes their processor, they rest for a time in
/// proportion to their wait, while the others do their part.
/// Which thread runs a chunk changes from run to run; a body whose chunks are independent therefore computes
/// the same numbers every time.
class ThreadPool {
 public:
  /// threads >= 1. With 1 there are no workers and parallel_for is a plain loop. Where the system grants no
  /// more threads, there are fewer.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// body(chunk, worker) for every chunk in [0, chunks); returns when all are done. `worker` < threads() is
  /// unique among the bodies that run at the same time in this call (the caller is 0): an index for scratch.
  /// What a body throws is thrown here, after the chunks that were begun: the first of several. Costs 0.2-0.5
  /// us while a Run is open, about 25 us if the workers are parked.
  void parallel_for(long chunks, FunctionRef<void(long chunk, int worker)> body);

  /// From now on, each thread's part in loops that are shared is written down (or no longer). To be called
  /// between loops.
  void record(bool on) { recording_.store(on, std::memory_order_relaxed); }
  /// What was written down since the last call, in no order. To be called between loops.
  std::vector<WorkSpan> take_record();

  /// While a Run lives, idle workers spin instead of parking: open one around a whole inference.
  class Run {
   public:
    explicit Run(ThreadPool& pool) : pool_(pool) { pool_.begin_run(); }
    ~Run() { pool_.end_run(); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    ThreadPool& pool_;
  };
  void begin_run();
  void end_run();

 private:
  using Body = FunctionRef<void(long chunk, int worker)>;

  void work(int worker);
  void run_claimed_chunks(int worker);
  void run_chunk(long chunk, int worker);
  long share_end(int thread) const;
  bool has_work(std::uint32_t seen) const;
  bool claim_of(int thread, long& chunk);
  bool claim(int worker, long& chunk);
  void hand_in(int worker, long chunks, std::chrono::steady_clock::time_point began);
  void yield(int worker);
  void rest(int worker, std::chrono::nanoseconds waited);
  void park(std::uint32_t seen_loop);
  void wake();

  // The part of a thread. High half: number of the loop. Low half: chunks nobody has claimed. Chunks are
  // counted in 32 bits.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> state{0};
  };
  std::vector<Share> shares_;
  // Number of the last loop, written once all shares are.
  alignas(64) std::atomic<std::uint32_t> loop_{0};
  // Written by the owner before the shares, read only by those who hold a claimed chunk.
  const Body* body_ = nullptr;
  long chunks_ = 0;
  alignas(64) std::atomic<long> finished_{0};
  alignas(64) std::atomic<bool> owned_{false};
  std::atomic<int> runs_{0};
  std::atomic<bool> stop_{false};
  // To tell work from waiting for the scheduler.
  struct alignas(64) Clocks {
    std::chrono::steady_clock::time_point wall;
    std::chrono::microseconds processor;
    long switches;  // to other threads, which took the processor

    static Clocks now();
  };
  std::vector<Clocks> turns_;  // when each thread yielded or waited last; its own
  std::atomic<int> resting_{0};
  std::mutex rest_mutex_;
  std::condition_variable stopped_;
  std::atomic<bool> recording_{false};
  std::vector<std::vector<WorkSpan>> record_;  // of each thread
  std::mutex failure_mutex_;
  std::exception_ptr failure_;  // of the loop that is run
  alignas(64) std::atomic<int> parked_{0};
  std::atomic<std::uint32_t> wake_count_{0};
  std::vector<std::thread> workers_;
};

}  // namespace tenon
