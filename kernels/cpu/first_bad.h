// The first of the positions at which several threads found something wrong.
#pragma once
#include <atomic>
#include <limits>

namespace tenon::cpu {

class FirstBad {
 public:
  void report(long position) {
    long seen = position_.load(std::memory_order_relaxed);
    while (position < seen && !position_.compare_exchange_weak(seen, position, std::memory_order_relaxed)) {}
  }
  /// -1 where nothing was reported.
  long result() const {
    const long position = position_.load(std::memory_order_relaxed);
    return position == none ? -1 : position;
  }

 private:
  static constexpr long none = std::numeric_limits<long>::max();
  std::atomic<long> position_{none};
};

}  // namespace tenon::cpu
