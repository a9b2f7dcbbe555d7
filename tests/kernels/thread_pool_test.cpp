// A pool runs every chunk exactly once, also when it is shared, nested, or asleep.
#include "kernels/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <stdexcept>

#include "tests/sanitized.h"

namespace tenon {
namespace {

std::vector<int> counts_after(ThreadPool& pool, long chunks) {
  std::vector<int> counts(static_cast<std::size_t>(chunks));
  pool.parallel_for(chunks, [&](long c, int) { counts[static_cast<std::size_t>(c)]++; });
  return counts;
}

TEST(ThreadPool, RunsEveryChunkOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const long chunks : {0L, 1L, 2L, 3L, 64L, 1000L}) {
      EXPECT_EQ(counts_after(pool, chunks), std::vector<int>(static_cast<std::size_t>(chunks), 1));
    }
  }
}

bool comes_true(FunctionRef<bool()> condition) {
  const auto begin = std::chrono::steady_clock::now();
  while (!condition() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(2))
    std::this_thread::yield();
  return condition();
}

// Each waits until the others are at work, so that nobody takes what is not its own. On a busy machine
// workers may rest, hence several tries.
TEST(ThreadPool, ThreadsBeginWithChunksOfTheirOwn) {
  constexpr long chunks = 10;
  ThreadPool pool(3);
  const ThreadPool::Run run(pool);
  const std::vector<long> own{0, chunks / 3, 2 * chunks / 3};
  std::vector<long> first;
  for (int i = 0; i < 10 && first != own; ++i) {
    first.assign(3, -1);
    std::atomic<int> begun{0};
    pool.parallel_for(chunks, [&](long c, int worker) {
      long& mine = first[static_cast<std::size_t>(worker)];
      if (mine >= 0) return;
      mine = c;
      begun.fetch_add(1);
      comes_true([&] { return begun.load() == 3; });
    });
  }
  EXPECT_EQ(first, own);
}

// The first chunk waits for all others.
TEST(ThreadPool, ThreadsHelpTheOthersWhenTheyAreDone) {
  constexpr long chunks = 12;
  ThreadPool pool(2);
  const ThreadPool::Run run(pool);
  bool helped = false;
  for (int i = 0; i < 10 && !helped; ++i) {
    std::atomic<long> done{0};
    pool.parallel_for(chunks, [&](long c, int) {
      if (c == 0) helped = comes_true([&] { return done.load() == chunks - 1; });
      done.fetch_add(1);
    });
    EXPECT_EQ(done.load(), chunks);
  }
  EXPECT_TRUE(helped);
}

TEST(ThreadPool, SurvivesManyShortLoops) {
  ThreadPool pool(3);
  const ThreadPool::Run run(pool);
  std::atomic<long> sum{0};
  for (int i = 0; i < 20000; i++) {
    pool.parallel_for(4, [&](long c, int) { sum.fetch_add(c + 1, std::memory_order_relaxed); });
  }
  EXPECT_EQ(sum.load(), 200000);
}

TEST(ThreadPool, WakesParkedWorkers) {
  ThreadPool pool(2);
  for (int i = 0; i < 20; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(counts_after(pool, 50), std::vector<int>(50, 1));
  }
}

TEST(ThreadPool, WorkerIndicesAreNeverSharedAtTheSameTime) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<bool> clash{false};
  pool.parallel_for(500, [&](long, int worker) {
    if (inside[static_cast<std::size_t>(worker)].fetch_add(1) != 0) clash = true;
    inside[static_cast<std::size_t>(worker)].fetch_sub(1);
  });
  EXPECT_FALSE(clash);
}

// Every thread that ran a chunk of a recorded loop has spans in that loop; they end before the loop does.
TEST(ThreadPool, RecordsWhoWorkedWhen) {
  ThreadPool pool(3);
  pool.parallel_for(100, [](long, int) {});
  EXPECT_TRUE(pool.take_record().empty());
  pool.record(true);
  std::array<std::atomic<bool>, 3> worked{};
  pool.parallel_for(100, [&](long, int worker) {
    worked[static_cast<std::size_t>(worker)] = true;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  });
  const auto after = std::chrono::steady_clock::now();
  pool.record(false);
  const auto spans = pool.take_record();
  for (int thread = 0; thread < 3; ++thread)
    EXPECT_EQ(std::any_of(spans.begin(), spans.end(), [&](const WorkSpan& s) { return s.thread == thread; }),
              worked[static_cast<std::size_t>(thread)].load());
  for (const WorkSpan& s : spans) EXPECT_TRUE(s.begin <= s.end && s.end <= after);
  EXPECT_TRUE(pool.take_record().empty());
}

TEST(ThreadPool, MayBeUsedInsideItsOwnLoop) {
  ThreadPool pool(3);
  std::atomic<long> sum{0};
  pool.parallel_for(10, [&](long, int) {
    pool.parallel_for(10, [&](long, int inner_worker) {
      EXPECT_EQ(inner_worker, 0);
      sum++;
    });
  });
  EXPECT_EQ(sum.load(), 100);
}

TEST(ThreadPool, MayBeSharedByCallersAndPoolsMayCoexist) {
  ThreadPool shared(2);
  ThreadPool other(2);
  std::atomic<long> sum{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; t++) {
    callers.emplace_back([&] {
      for (int i = 0; i < 300; i++) {
        shared.parallel_for(7, [&](long, int) { sum++; });
        other.parallel_for(5, [&](long, int) { sum++; });
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(sum.load(), 4 * 300 * 12);
}

TEST(ThreadPool, ThrowsWhatABodyThrewAndGoesOn) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (const long bad : {0L, 37L, 99L}) {
      EXPECT_THROW(pool.parallel_for(100,
                                     [&](long chunk, int) {
                                       if (chunk == bad) throw std::runtime_error("chunk");
                                     }),
                   std::runtime_error);
      EXPECT_EQ(counts_after(pool, 50), std::vector<int>(50, 1));
    }
  }
}

// As if the system had not scheduled it while it held a chunk.
void make_worker_late(ThreadPool& pool) {
  using namespace std::chrono_literals;
  std::atomic<bool> worker_is_late{false};
  while (!worker_is_late) {
    pool.parallel_for(2, [&](long, int worker) {
      if (worker == 1) {
        worker_is_late = true;
        std::this_thread::sleep_for(200ms);
      } else {
        for (int i = 0; i < 1000 && !worker_is_late; ++i) std::this_thread::sleep_for(10us);
      }
    });
  }
}

bool caller_works_alone(ThreadPool& pool, std::chrono::milliseconds time) {
  bool alone = true;
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < time)
    pool.parallel_for(20, [&](long, int worker) { alone = alone && worker == 0; });
  return alone;
}

// On a busy machine this thread may itself be late, hence several tries.
TEST(ThreadPool, LeavesLateWorkersOutForSomeTime) {
  using namespace std::chrono_literals;
  ThreadPool pool(2);
  const ThreadPool::Run run(pool);
  bool alone = false;
  for (int i = 0; i < 10 && !alone; ++i) {
    make_worker_late(pool);
    alone = caller_works_alone(pool, 100ms);
  }
  EXPECT_TRUE(alone);
  std::atomic<bool> worker_works{false};  // rested, it works again
  for (int i = 0; i < 10 && !worker_works; ++i)
    comes_true([&] {
      pool.parallel_for(20, [&](long, int worker) {
        if (worker == 1) worker_works = true;
      });
      return worker_works.load();
    });
  EXPECT_TRUE(worker_works);
}

// This thread and those that it makes then share one processor.
class OneProcessor {
 public:
  OneProcessor() {
    sched_getaffinity(0, sizeof(before_), &before_);
    int first = 0;
    while (!CPU_ISSET(first, &before_)) first++;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof(before_), &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_{};
};

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The processor is wanted by the caller, which may be any program: an idle worker of a run does not keep it.
TEST(ThreadPool, IdleWorkersLeaveTheirProcessorToOthers) {
  const OneProcessor shared;
  ThreadPool pool(2);
  const ThreadPool::Run run(pool);
  const double process = seconds_of(CLOCK_PROCESS_CPUTIME_ID), mine = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  while (seconds_of(CLOCK_THREAD_CPUTIME_ID) - mine < 0.3) {}
  const double all = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - process;
  EXPECT_LT(all, 0.4) << "the idle worker took " << all - 0.3 << " s of the processor";
}

void make_many_threads_in_little_space() {
  const rlimit little{rlim_t{1} << 30, rlim_t{1} << 30};
  setrlimit(RLIMIT_AS, &little);
  ThreadPool pool(1000);
  const bool works = counts_after(pool, 50) == std::vector<int>(50, 1);
  std::_Exit(works && pool.threads() < 1000 ? 0 : 1);
}

TEST(ThreadPool, HasFewerThreadsWhereTheSystemGrantsNoMore) {
  if (sanitized) GTEST_SKIP();
  EXPECT_EXIT(make_many_threads_in_little_space(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tenon
