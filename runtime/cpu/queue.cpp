#include "runtime/cpu/queue.h"

#include "runtime/cpu/step.h"

namespace tenon {
namespace {

class CpuClock : public StepClock {
 public:
  CpuClock(ThreadPool& pool, std::size_t marks) : pool_(pool) {
    times_.reserve(marks);
    pool_.record(true);
  }
  ~CpuClock() override { CpuClock::threads(); }
  CpuClock(const CpuClock&) = delete;
  CpuClock& operator=(const CpuClock&) = delete;

  void mark() override { times_.push_back(std::chrono::steady_clock::now()); }
  std::vector<TimePoint> times() override { return times_; }
  std::vector<WorkSpan> threads() override {
    pool_.record(false);
    return pool_.take_record();
  }

 private:
  ThreadPool& pool_;
  std::vector<TimePoint> times_;
};

}  // namespace

void CpuQueue::enqueue(const CpuStep& step, const Frame& frame) {
  step.compute({frame.buffers, frame.scratch, pool_of(step.schedule), step.faults_in(frame.faults)});
}

std::unique_ptr<StepClock> CpuQueue::clock(std::size_t marks) {
  return std::make_unique<CpuClock>(pool_, marks);
}

}  // namespace tenon
