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
void add_hazards(const std::vector<Access>& accesses, std::vector<Dependency>& found) {
  if (std::ranges::none_of(accesses, &Access::writes)) return;
  for (auto later = accesses.begin(); later != accesses.end(); ++later)
    for (auto earlier = accesses.begin(); earlier->step < later->step; ++earlier)
      if ((earlier->writes || later->writes) &&
          (!later->tensor || may_overlap(*earlier->tensor, *later->tensor)))
        found.push_back({later->step, earlier->step, hazard_of(*earlier, *later)});
}

}  // namespace

std::vector<Dependency> dependencies(std::span<const std::unique_ptr<Step>> steps) {
  std::map<std::size_t, std::vector<Access>> buffers;
  std::vector<Access> scratch, host_scratch;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = *steps[i];
    for (const PlannedTensor& t : step.reads) buffers[t.buffer()].push_back({i, &t, false});
    for (const PlannedTensor& t : step.writes) buffers[t.buffer()].push_back({i, &t, true});
    if (step.scratch_bytes > 0) scratch.push_back({i, nullptr, true});
    if (step.host_scratch_bytes > 0) host_scratch.push_back({i, nullptr, true});
  }
  std::vector<Dependency> found;
  for (const auto& [buffer, accesses] : buffers) add_hazards(accesses, found);
  add_hazards(scratch, found);
  add_hazards(host_scratch, found);
  std::ranges::stable_sort(found, {}, &Dependency::step);
  return found;
}

}  // namespace tenon
