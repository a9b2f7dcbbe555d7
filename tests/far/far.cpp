#include "tests/far/far.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "runtime/cpu/step.h"
#include "runtime/devices.h"

namespace tenon::testing {
namespace {

constexpr std::size_t most_waiting = 256;

// Pages that are mapped twice: where the host may not read them, and where the queue does.
class FarMemory {
 public:
  static FarMemory& get() {
    static auto* memory = new FarMemory;  // released by whoever ends last
    return *memory;
  }

  std::byte* add(std::size_t bytes) {
    const int file = memfd_create("far", 0);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) throw std::bad_alloc();
    void* seen = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    void* closed = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
    close(file);
    if (seen == MAP_FAILED || closed == MAP_FAILED) throw std::bad_alloc();
    const std::lock_guard lock(mutex_);
    blocks_[static_cast<std::byte*>(closed)] = {static_cast<std::byte*>(seen), bytes};
    return static_cast<std::byte*>(closed);
  }

  void remove(std::byte* closed) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(closed);
    munmap(found->second.seen, found->second.bytes);
    munmap(closed, found->second.bytes);
    blocks_.erase(found);
  }

  // Where the queue reads what lies at this address; memory of the host is where it is.
  std::byte* seen(std::byte* address) {
    const std::lock_guard lock(mutex_);
    auto block = blocks_.upper_bound(address);
    if (block == blocks_.begin()) return address;
    --block;
    const std::ptrdiff_t offset = address - block->first;
    return static_cast<std::size_t>(offset) < block->second.bytes ? block->second.seen + offset : address;
  }

 private:
  struct Block {
    std::byte* seen;
    std::size_t bytes;
  };
  std::mutex mutex_;
  std::map<std::byte*, Block> blocks_;
};

std::byte* seen(const void* address) {
  return FarMemory::get().seen(static_cast<std::byte*>(const_cast<void*>(address)));
}

Memory allocate(std::size_t bytes, Space space) {
  if (space != Space::device) return touched_host_memory(bytes);
  if (bytes == 0) return {};
  return {FarMemory::get().add(bytes), bytes,
          [](std::byte* data, std::size_t) { FarMemory::get().remove(data); }};
}

class FarQueue : public CpuQueue {
 public:
  explicit FarQueue(int threads) : CpuQueue(threads), thread_([this] { work(); }) {}
  ~FarQueue() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void enqueue(const CpuStep& step, const Frame& frame) override {
    std::vector<std::byte*> buffers;
    for (std::byte* buffer : frame.buffers) buffers.push_back(seen(buffer));
    add([this, &step, buffers = std::move(buffers), scratch = seen(frame.scratch),
         faults = step.faults_in(frame.faults)] {
      step.compute({buffers, scratch, pool_of(step.schedule), faults});
    });
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    add([to = seen(to), from = seen(from), bytes] { std::memcpy(to, from, bytes); });
  }

  void wait() override {
    if (recorded) throw error("a queue does not wait while it records");
    std::unique_lock lock(mutex_);
    const std::size_t last = added_;
    wanted_ = std::max(wanted_, last);
    changed_.notify_all();
    changed_.wait(lock, [&] { return done_ >= last; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  std::unique_ptr<StepClock> clock(std::size_t) override { return std::make_unique<Clock>(*this); }

  std::size_t recorded_streams() const override { return 3; }
  std::unique_ptr<CommandList> record(std::span<const StreamPlace> places,
                                      FunctionRef<void(std::size_t, Queue&)> enqueue) override {
    auto list = std::make_unique<Pieces>(*this, places);
    try {
      for (std::size_t i = 0; i < places.size(); ++i) {
        recorded = &list->tasks[i];
        enqueue(i, *this);
      }
    } catch (const Error&) { list = nullptr; }
    recorded = nullptr;
    return list;
  }

 private:
  using Task = std::function<void()>;
  static thread_local std::vector<Task>* recorded;  // what this thread enqueues, instead of being done

  // Each replay lets another piece wait as long as the places allow.
  struct Pieces : CommandList {
    Pieces(FarQueue& in, std::span<const StreamPlace> places)
        : queue(in), tasks(places.size()), after(places.size()) {
      std::map<std::size_t, std::size_t> last;  // of each stream
      for (std::size_t i = 0; i < places.size(); ++i) {
        after[i] = places[i].after;
        const auto [before, is_first] = last.try_emplace(places[i].stream, i);
        if (!is_first) after[i].push_back(std::exchange(before->second, i));
      }
    }
    void replay() override {
      const std::size_t late = replays++ % tasks.size();
      std::vector<bool> done(tasks.size());
      const auto is_done = [&](std::size_t i) { return done[i]; };
      for (std::size_t left = tasks.size(); left > 0; --left) {
        std::size_t next = late;
        for (std::size_t i = tasks.size(); i-- > 0;)
          if (i != late && !done[i] && std::ranges::all_of(after[i], is_done)) next = i;
        for (const Task& task : tasks[next]) queue.add(task);
        done[next] = true;
      }
    }
    FarQueue& queue;
    std::vector<std::vector<Task>> tasks;
    std::vector<std::vector<std::size_t>> after;
    std::size_t replays = 0;
  };

  class Clock : public StepClock {
   public:
    explicit Clock(FarQueue& queue) : queue_(queue) {}
    ~Clock() override { queue_.end_run(); }
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    void mark() override {
      queue_.add([this] { times_.push_back(std::chrono::steady_clock::now()); });
    }
    std::vector<TimePoint> times() override {
      queue_.wait();
      return times_;
    }
    std::vector<WorkSpan> threads() override { return {}; }

   private:
    FarQueue& queue_;
    std::vector<TimePoint> times_;
  };

  void add(Task task) {
    if (recorded) return recorded->push_back(std::move(task));
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    ++added_;
    if (tasks_.size() >= most_waiting) wanted_ = added_;
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || done_ < wanted_; });
      if (done_ >= wanted_) return;
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      run(task);
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  void run(const Task& task) {
    try {
      task();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void begin_run() override {}
  void end_run() noexcept override {
    try {
      wait();
    } catch (...) {  // whoever waited before was told
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::size_t added_ = 0, wanted_ = 0, done_ = 0;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

thread_local std::vector<FarQueue::Task>* FarQueue::recorded = nullptr;

[[maybe_unused]] const bool added = [] {
  add_device(far_device());
  return true;
}();

}  // namespace

const Device& far_device() {
  static const Device device = [] {
    Device far = cpu_device();
    far.name = "far";
    far.shares_memory = false;
    far.memory.row_period = 0;  // as on GPUs: what the host computes is copied as one piece
    far.allocate = allocate;
    far.open_queue = [](int threads) -> std::unique_ptr<Queue> {
      return std::make_unique<FarQueue>(threads);
    };
    return far;
  }();
  return device;
}

}  // namespace tenon::testing
