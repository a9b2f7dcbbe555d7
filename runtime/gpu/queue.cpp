#include "runtime/gpu/queue.h"

#include <algorithm>

#include "kernels/gpu/hold_source.h"
#include "runtime/gpu/capture.h"
#include "runtime/gpu/event.h"
#include "runtime/gpu/vendor_numbers.h"

namespace tenon::gpu {
namespace {

// The device says how long after the first mark the others were; the first is when the host set it, behind
// what holds the stream.
class EventClock : public StepClock {
 public:
  EventClock(GpuQueue& queue, std::size_t marks)
      : queue_(queue), hold_(queue.gpu().function(hold_source(), hold_name, 0)) {
    events_.reserve(marks);
    for (std::size_t i = 0; i < marks; ++i) events_.emplace_back(queue.gpu(), Event::Kind::timed);
  }

  // What comes between marks waits for no host: the stream is held until the host has enqueued it, about.
  void mark() override {
    if (marked_ == 0) {
      const auto held = std::min<std::chrono::nanoseconds>(enqueuing * events_.size(), longest_hold);
      begin_ = std::chrono::steady_clock::now() + held;
      hold(held);
    }
    if (marked_ == events_.size()) events_.emplace_back(queue_.gpu(), Event::Kind::timed);
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
  static constexpr std::chrono::nanoseconds enqueuing = std::chrono::microseconds(8),  // a step and its event
      longest_hold = std::chrono::milliseconds(8);

  void hold(std::chrono::nanoseconds time) {
    std::int64_t nanoseconds = time.count();
    void* arguments[] = {&nanoseconds, nullptr};
    queue_.gpu().launch(hold_, {.grid = {1, 1, 1}, .block = 1}, arguments, queue_.stream());
  }

  GpuQueue& queue_;
  const Function hold_;
  std::vector<Event> events_;
  std::size_t marked_ = 0;
  TimePoint begin_;
};

}  // namespace

GpuQueue::GpuQueue(Gpu& gpu) : gpu_(gpu) {
  gpu_.activate();
  gpu_.check(gpu_.driver().create_stream(&stream_, driver_numbers::apart_from_the_default_stream),
             "making a stream");
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

std::unique_ptr<CommandList> GpuQueue::record(std::span<const StreamPlace> places,
                                              FunctionRef<void(std::size_t, Queue&)> enqueue) {
  return capture(*this, places, enqueue);
}

void GpuQueue::end_run() noexcept { (void)gpu_.driver().wait_for_stream(stream_); }

}  // namespace tenon::gpu
