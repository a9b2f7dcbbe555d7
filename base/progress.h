// Long work counts what it has done: whoever waits is shown "213 of 512 nodes".
#pragma once
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

namespace tenon {

/// Counts the parts of one piece of work while it lives. Of counts inside each other the outermost shows.
/// Cheap: a step is one addition. Each belongs to the thread that made it; any thread may read shown_count().
class Count {
 public:
  /// `total` 0: not known. `parts` lives as long as the program: "nodes".
  explicit Count(std::string_view parts, std::size_t total = 0);
  ~Count();
  Count(const Count&) = delete;
  Count& operator=(const Count&) = delete;

  void step(std::size_t parts = 1) { done_.fetch_add(parts, std::memory_order_relaxed); }

 private:
  friend std::string shown_count();
  std::string_view parts_;
  std::size_t total_;
  std::atomic<std::size_t> done_{0};
  bool shows_;
};

/// "213 of 512 nodes" of the count that was begun first; empty when nothing is counted.
std::string shown_count();

}  // namespace tenon
