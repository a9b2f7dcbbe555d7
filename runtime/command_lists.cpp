#include "runtime/command_lists.h"

#include <algorithm>
#include <utility>

namespace tenon {
namespace {

constexpr std::size_t max_entries = 64;

std::array<const void*, 3> others_of(const Frame& frame) {
  return {frame.scratch, frame.host_scratch, frame.faults.data()};
}

std::vector<std::unique_ptr<CommandList>> record(const Plan& plan, const Frame& frame) {
  std::vector<std::unique_ptr<CommandList>> parts;
  for (const RecordedRange& range : plan.recorded)
    parts.push_back(frame.queue.record(range.places, [&](std::size_t piece, Queue& queue) {
      const std::size_t step = range.begin + piece;
      plan.run({step, step + 1}, {.buffers = frame.buffers,
                                  .scratch = frame.scratch,
                                  .host_scratch = frame.host_scratch,
                                  .queue = queue,
                                  .faults = frame.faults});
    }));
  return parts;
}

}  // namespace

// The plan that is found lives: the caller holds it, and no other has its address as long.
CommandLists::Entry* CommandLists::find(const Plan& plan, const Frame& frame) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.plan.lock().get() == &plan && std::ranges::equal(e.buffers, frame.buffers) &&
           e.others == others_of(frame);
  });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return &entries_.front();
}

void CommandLists::run(const std::shared_ptr<const Plan>& plan, const Frame& frame) {
  const StepRange all{0, plan->steps.size()};
  if (plan->recorded.empty()) return plan->run(all, frame);
  Entry* entry = find(*plan, frame);
  if (!entry) {
    entries_.remove_if([](const Entry& e) { return e.plan.expired(); });
    if (entries_.size() >= max_entries) entries_.pop_back();
    entries_.push_front({plan, {frame.buffers.begin(), frame.buffers.end()}, others_of(frame)});
    return plan->run(all, frame);
  }
  if (!std::exchange(entry->is_recorded, true))
    entry->parts = std::make_shared<const Parts>(record(*plan, frame));
  const auto parts = entry->parts;  // plans inside of steps may push the entry out
  std::size_t next = 0;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const StepRange& range = plan->recorded[i];
    plan->run({next, range.begin}, frame);
    if (const auto& part = (*parts)[i])
      part->replay();
    else
      plan->run(range, frame);
    next = range.end;
  }
  plan->run({next, all.end}, frame);
}

}  // namespace tenon
