// The pool: a share's 64-bit word holds loop number and unclaimed chunks, so a late worker cannot claim from
// a later loop.
#include "kernels/thread_pool.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <limits>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

constexpr std::uint64_t unclaimed_mask = std::numeric_limits<std::uint32_t>::max();
constexpr int loop_shift = 32;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The caller spins about 10 us and then yields: the scheduler may have put the woken worker on the caller's
// core.
constexpr int caller_spins = 400;
// A worker spins about 50 us before it yields in a run, or parks outside of one.
constexpr unsigned worker_spins = 2000;
// A worker that has worked for so long yields before it takes another chunk: less than a slice of the
// scheduler, at whose end it would lose its processor while it holds one.
constexpr std::chrono::microseconds turn{250};
// A worker that waited so long for the scheduler has a processor that others want, too.
constexpr std::chrono::microseconds late{300};
// The rest that follows, in waits, and the longest one.
constexpr int waits_of_rest = 8;
constexpr std::chrono::milliseconds longest_rest{200};

}  // namespace

ThreadPool::ThreadPool(int threads)
    : shares_(static_cast<std::size_t>(threads)), turns_(static_cast<std::size_t>(threads)) {
  TENON_CHECK(threads >= 1);
  record_.resize(static_cast<std::size_t>(threads));
  workers_.reserve(static_cast<std::size_t>(threads) - 1);
  try {
    for (int i = 1; i < threads; i++) workers_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error&) {  // a limit of the system
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(rest_mutex_);
    stop_.store(true);
  }
  stopped_.notify_all();
  wake();
  for (std::thread& t : workers_) t.join();
}

void ThreadPool::parallel_for(long chunks, Body body) {
  const bool alone = chunks <= 1 || workers_.empty() || chunks >= static_cast<long>(unclaimed_mask) ||
                     resting_.load(std::memory_order_relaxed) == threads() - 1 ||
                     owned_.exchange(true, std::memory_order_acquire);
  if (alone) {
    for (long c = 0; c < chunks; c++) body(c, 0);
    return;
  }
  body_ = &body;
  chunks_ = chunks;
  finished_.store(0, std::memory_order_relaxed);
  const std::uint32_t loop = loop_.load(std::memory_order_relaxed) + 1;
  for (int t = 0; t < threads(); t++) {
    const long size = share_end(t) - share_end(t - 1);
    shares_[static_cast<std::size_t>(t)].state.store(
        std::uint64_t{loop} << loop_shift | static_cast<std::uint64_t>(size), std::memory_order_release);
  }
  loop_.store(loop, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) > 0) wake();
  run_claimed_chunks(0);
  for (int spins = 0; finished_.load(std::memory_order_acquire) != chunks; spins++) {
    if (spins < caller_spins) {
      pause();
    } else {
      sched_yield();
    }
  }
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  owned_.store(false, std::memory_order_release);
  if (failure) std::rethrow_exception(failure);
}

ThreadPool::Clocks ThreadPool::Clocks::now() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);  // whose times may be those of the last tick
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return {std::chrono::steady_clock::now(),
          std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_nsec / 1000),
          used.ru_nvcsw + used.ru_nivcsw};
}

// Done chunks of a worker or the caller, whose loop they may end.
void ThreadPool::hand_in(int worker, long chunks, std::chrono::steady_clock::time_point began) {
  const auto now = std::chrono::steady_clock::now();
  if (recording_.load(std::memory_order_relaxed))
    record_[static_cast<std::size_t>(worker)].push_back({worker, began, now});
  // A worker that took long may have worked, or waited: for other threads here, or for a processor that a
  // virtual machine shares with others, where a rest would not help.
  std::chrono::nanoseconds waited{0};
  if (worker > 0 && now - began > late) {
    const Clocks& then = turns_[static_cast<std::size_t>(worker)];
    const Clocks clocks = Clocks::now();
    if (clocks.switches != then.switches)
      waited = std::min(clocks.wall - then.wall - (clocks.processor - then.processor), clocks.wall - began);
  }
  finished_.fetch_add(chunks, std::memory_order_release);
  if (waited > late) rest(worker, waited);
}

// Of a worker that holds no chunk.
void ThreadPool::yield(int worker) {
  const Clocks before = Clocks::now();
  sched_yield();
  const Clocks after = turns_[static_cast<std::size_t>(worker)] = Clocks::now();
  if (after.switches != before.switches && after.wall - before.wall > late)
    rest(worker, after.wall - before.wall);
}

void ThreadPool::rest(int worker, std::chrono::nanoseconds waited) {
  resting_.fetch_add(1, std::memory_order_relaxed);
  {
    std::unique_lock lock(rest_mutex_);
    stopped_.wait_for(lock, std::min<std::chrono::nanoseconds>(waits_of_rest * waited, longest_rest),
                      [this] { return stop_.load(std::memory_order_relaxed); });
  }
  resting_.fetch_sub(1, std::memory_order_relaxed);
  turns_[static_cast<std::size_t>(worker)] = Clocks::now();
}

void ThreadPool::run_chunk(long chunk, int worker) {
  try {
    (*body_)(chunk, worker);
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

// Of the chunks before it and its own.
long ThreadPool::share_end(int thread) const { return chunks_ * (thread + 1) / threads(); }

bool ThreadPool::claim_of(int thread, long& chunk) {
  std::atomic<std::uint64_t>& share = shares_[static_cast<std::size_t>(thread)].state;
  std::uint64_t state = share.load(std::memory_order_relaxed);
  while ((state & unclaimed_mask) != 0) {
    if (share.compare_exchange_weak(state, state - 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      chunk = share_end(thread) - static_cast<long>(state & unclaimed_mask);
      return true;
    }
  }
  return false;
}

// Its own chunks first.
bool ThreadPool::claim(int worker, long& chunk) {
  for (int i = 0; i < threads(); i++)
    if (claim_of((worker + i) % threads(), chunk)) return true;
  return false;
}

void ThreadPool::run_claimed_chunks(int worker) {
  const Clocks& mine = turns_[static_cast<std::size_t>(worker)];
  const bool is_timed = worker > 0 || recording_.load(std::memory_order_relaxed);
  std::chrono::steady_clock::time_point began;
  long done = 0;
  for (long chunk; claim(worker, chunk);) {
    if (done == 0 && is_timed) began = std::chrono::steady_clock::now();
    run_chunk(chunk, worker);
    done++;
    if (worker == 0 || std::chrono::steady_clock::now() - mine.wall < turn) continue;
    hand_in(worker, std::exchange(done, 0), began);
    yield(worker);
  }
  if (done > 0) hand_in(worker, done, began);
}

std::vector<WorkSpan> ThreadPool::take_record() {
  std::vector<WorkSpan> all;
  for (std::vector<WorkSpan>& spans : record_) {
    all.insert(all.end(), spans.begin(), spans.end());
    spans.clear();
  }
  return all;
}

bool ThreadPool::has_work(std::uint32_t seen) const {
  return loop_.load(std::memory_order_seq_cst) != seen || stop_.load(std::memory_order_seq_cst);
}

void ThreadPool::work(int worker) {
  Clocks& mine = turns_[static_cast<std::size_t>(worker)];
  mine = Clocks::now();
  for (std::uint32_t seen = 0; !stop_.load(std::memory_order_relaxed);) {
    for (unsigned spins = 1; !has_work(seen); spins++) {
      pause();
      if (spins % worker_spins != 0) continue;
      if (runs_.load(std::memory_order_relaxed) > 0) {
        yield(worker);
      } else {
        park(seen);
        mine = Clocks::now();
      }
    }
    seen = loop_.load(std::memory_order_seq_cst);
    run_claimed_chunks(worker);
  }
}

void ThreadPool::park(std::uint32_t seen_loop) {
  parked_.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = wake_count_.load(std::memory_order_seq_cst);
  if (!has_work(seen_loop) && runs_.load(std::memory_order_seq_cst) == 0) wake_count_.wait(seen);
  parked_.fetch_sub(1, std::memory_order_relaxed);
}

void ThreadPool::wake() {
  wake_count_.fetch_add(1, std::memory_order_seq_cst);
  wake_count_.notify_all();
}

void ThreadPool::begin_run() {
  runs_.fetch_add(1, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) > 0) wake();
}

void ThreadPool::end_run() { runs_.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace tenon
