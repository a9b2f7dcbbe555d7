#include "base/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace tenon {
namespace {

std::mutex mutex;
const Count* shown = nullptr;

}  // namespace

Count::Count(std::string_view parts, std::size_t total) : parts_(parts), total_(total) {
  const std::lock_guard lock(mutex);
  shows_ = shown == nullptr;
  if (shows_) shown = this;
}

Count::~Count() {
  const std::lock_guard lock(mutex);
  if (shows_) shown = nullptr;
}

std::string shown_count() {
  const std::lock_guard lock(mutex);
  const std::size_t done = shown ? shown->done_.load(std::memory_order_relaxed) : 0;
  if (done == 0) return {};
  return shown->total_
             ? fmt::format("{} of {} {}", std::min(done, shown->total_), shown->total_, shown->parts_)
             : fmt::format("{} {}", done, shown->parts_);
}

}  // namespace tenon
