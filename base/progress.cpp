#include "base/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace tenon {
namespace {

std::mutex mutex;
const Count* current = nullptr;

}  // namespace

Count::Count(std::string_view parts, std::size_t total) : parts_(parts), total_(total) {
  const std::lock_guard lock(mutex);
  shows_ = current == nullptr;
  if (shows_) current = this;
}

Count::~Count() {
  const std::lock_guard lock(mutex);
  if (shows_) current = nullptr;
}

std::string shown_count() {
  const std::lock_guard lock(mutex);
  const std::size_t done = current ? current->done_.load(std::memory_order_relaxed) : 0;
  if (done == 0) return {};
  return current->total_
             ? fmt::format("{} of {} {}", std::min(done, current->total_), current->total_, current->parts_)
             : fmt::format("{} {}", done, current->parts_);
}

}  // namespace tenon
