#include "runtime/gpu/queue.h"

#include "runtime/gpu/capture.h"

namespace tenon::gpu {
namespace {

constexpr unsigned apart_from_the_default_stream = 1;  // CU_STREAM_NON_BLOCKING, hipStreamNonBlocking

class Event {
 public:
  explicit Event(const Gpu& gpu) : gpu_(&gpu) {
    gpu.check(gpu.driver().create_event(&event_, 0), "making an event");
  }
  ~Event() {
    if (!event_) return;
    gpu_->activate_if_possible();
    (void)gpu_->driver().destroy_event(event_);
  }
  Event(Event&& other) noexcept : gpu_(other.gpu_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;

  void record(void* stream) {
    gpu_->check(gpu_->driver().record_event(event_, stream), "recording an event");
  }
  double milliseconds_to(const Event& later) const {
    float ms = 0;
    gpu_->check(gpu_->driver().milliseconds_between(&ms, event_, later.event_),
                "reading the time of an event");
    return static_cast<double>(ms);
  }

 private:
  const Gpu* gpu_;
  void* event_ = nullptr;
};

// The device says how long after the first mark the others were; the first is when the host set it.
class EventClock : public StepClock {
 public:
  EventClock(GpuQueue& queue, std::size_t marks) : queue_(queue) {
    events_.reserve(marks);
    for (std::size_t i = 0; i < marks; ++i) events_.emplace_back(queue.gpu());
  }

  void mark() override {
    if (marked_ == 0) begin_ = std::chrono::steady_clock::now();
    if (marked_ == events_.size()) events_.emplace_back(queue_.gpu());
    events_[marked_++].record(queue_.stream());
  }

  std::vector<TimePoint> times() override {
    queue_.wait();
    std::vector<TimePoint> times;
    for (std::size_t i = 0; i < marked_; ++i) {
      const std::chrono::duration<double, std::milli> since(i == 0 ? 0
                                                                   : events_[0].milliseconds_to(events_[i]));
      times.push_back(begin_ + std::chrono::duration_cast<TimePoint::duration>(since));
    }
    return times;
  }

  std::vector<WorkSpan> threads() override { return {}; }

 private:
  GpuQueue& queue_;
  std::vector<Event> events_;
  std::size_t marked_ = 0;
  TimePoint begin_;
};

}  // namespace

GpuQueue::GpuQueue(Gpu& gpu) : gpu_(gpu) {
  gpu_.activate();
  gpu_.check(gpu_.driver().create_stream(&stream_, apart_from_the_default_stream), "making a stream");
}

GpuQueue::~GpuQueue() {
  gpu_.activate_if_possible();
  (void)gpu_.driver().wait_for_stream(stream_);
  (void)gpu_.driver().destroy_stream(stream_);
}

void GpuQueue::copy(void* to, const void* from, std::size_t bytes) {
  gpu_.activate();
  gpu_.copy(to, from, bytes, stream_);
}

void GpuQueue::wait() {
  gpu_.activate();
  gpu_.check(gpu_.driver().wait_for_stream(stream_), "waiting for kernels");
}

std::unique_ptr<StepClock> GpuQueue::clock(std::size_t marks) {
  gpu_.activate();
  return std::make_unique<EventClock>(*this, marks);
}

std::unique_ptr<CommandList> GpuQueue::record(FunctionRef<void(Queue&)> enqueue) {
  return capture(*this, enqueue);
}

void GpuQueue::end_run() noexcept { (void)gpu_.driver().wait_for_stream(stream_); }

}  // namespace tenon::gpu
