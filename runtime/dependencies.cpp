#include "runtime/dependencies.h"

#include <algorithm>
#include <map>

#include "runtime/overlap.h"

namespace tenon {
namespace {

struct Access {
  std::size_t step;
  const PlannedTensor* tensor;  // null: all there is
  bool writes;
};

Hazard hazard_of(const Access& earlier, const Access& later) {
  if (!later.writes) return Hazard::read_after_write;
  return earlier.writes ? Hazard::write_after_write : Hazard::write_after_read;
}

// In the order of their steps.
void add_hazards(const std::vector<Access>& accesses, std::size_t most_apart,
                 std::vector<Dependency>& found) {
  if (std::ranges::none_of(accesses, &Access::writes)) return;
  auto first = accesses.begin();
  for (auto later = accesses.begin(); later != accesses.end(); ++later) {
    while (later->step - first->step > most_apart) ++first;
    for (auto earlier = first; earlier->step < later->step; ++earlier)
      if ((earlier->writes || later->writes) &&
          (!later->tensor || may_overlap(*earlier->tensor, *later->tensor)))
        found.push_back({later->step, earlier->step, hazard_of(*earlier, *later)});
  }
}

std::vector<Dependency> in_order(std::vector<Dependency> found) {
  std::ranges::stable_sort(found, {}, &Dependency::step);
  return found;
}

void add_scratch_hazards(std::span<const std::unique_ptr<Step>> steps, std::size_t Step::*bytes,
                         std::vector<Dependency>& found) {
  std::vector<Access> accesses;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if ((*steps[i]).*bytes > 0) accesses.push_back({i, nullptr, true});
  add_hazards(accesses, std::numeric_limits<std::size_t>::max(), found);
}

}  // namespace

std::vector<Dependency> data_dependencies(std::span<const std::unique_ptr<Step>> steps,
                                          std::size_t most_apart) {
  std::map<std::size_t, std::vector<Access>> buffers;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const PlannedTensor& t : steps[i]->reads) buffers[t.buffer()].push_back({i, &t, false});
    for (const PlannedTensor& t : steps[i]->writes) buffers[t.buffer()].push_back({i, &t, true});
  }
  std::vector<Dependency> found;
  for (const auto& [buffer, accesses] : buffers) add_hazards(accesses, most_apart, found);
  return in_order(std::move(found));
}

std::vector<Dependency> dependencies(std::span<const std::unique_ptr<Step>> steps) {
  std::vector<Dependency> found = data_dependencies(steps);
  add_scratch_hazards(steps, &Step::scratch_bytes, found);
  add_scratch_hazards(steps, &Step::host_scratch_bytes, found);
  return in_order(std::move(found));
}

}  // namespace tenon
