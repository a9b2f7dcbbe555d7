// An event of a GPU: a point in the order of a stream.
#pragma once
#include <utility>

#include "runtime/gpu/gpu.h"
#include "runtime/gpu/vendor_numbers.h"

namespace tenon::gpu {

class Event {
 public:
  enum class Kind { timed, untimed };

  /// The GPU must outlive it.
  explicit Event(const Gpu& gpu, Kind kind) : gpu_(&gpu) {
    gpu.check(gpu.driver().create_event(&event_, kind == Kind::timed ? 0 : driver_numbers::disable_timing),
              "making an event");
  }
  ~Event() {
    if (!event_) return;
    gpu_->activate_if_possible();
    (void)gpu_->driver().destroy_event(event_);
  }
  Event(Event&& other) noexcept : gpu_(other.gpu_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;

  /// Behind all that the stream has so far.
  void record(void* stream) {
    gpu_->check(gpu_->driver().record_event(event_, stream), "recording an event");
  }
  /// What the stream is given from now on comes after it.
  void hold(void* stream) const {
    gpu_->check(gpu_->driver().wait_for_event(stream, event_, 0), "waiting for an event");
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

}  // namespace tenon::gpu
