// What a workspace has recorded of the plans that ran in it.
#pragma once
#include <array>
#include <list>

#include "runtime/plan.h"

namespace tenon {

/// On a device that records, runs of a plan at the same addresses start each of its ranges at once
/// (Plan::recorded) from the second one on. The first one does not record: many plans run only once at their
/// addresses, to record costs as much as some runs save, and drivers load kernels when they start them first.
class CommandLists {
 public:
  /// Enqueues the plan's steps.
  void run(const std::shared_ptr<const Plan>& plan, const Frame& frame);

 private:
  using Parts = std::vector<std::unique_ptr<CommandList>>;  // of each range; null: it could not be recorded
  struct Entry {
    std::weak_ptr<const Plan> plan;
    std::vector<std::byte*> buffers;    // where they lay
    std::array<const void*, 3> others;  // and what else the frame says
    bool is_recorded = false;           // or that was tried
    std::shared_ptr<const Parts> parts;
  };
  Entry* find(const Plan& plan, const Frame& frame);

  std::list<Entry> entries_;  // those used last first
};

}  // namespace tenon
