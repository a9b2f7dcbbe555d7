#include "runtime/subplan.h"

#include "runtime/command_lists.h"

namespace tenon {

Subplan::Subplan(Planner& planner, std::unique_ptr<Graph> region, PlanOptions options) {
  options.is_recorded = true;
  planner_ = std::make_unique<Planner>(std::move(region), planner.device(), std::move(options));
  planner_->choose();
  planner.refuse(planner_->refusal());
}

void Subplan::compile() {
  plan_ = planner_->finish();
  planner_ = nullptr;
}

// The table of the buffers' places stands before the pinned arena.
std::size_t Subplan::table_bytes() const { return in_lines(plan_->buffers.size() * sizeof(std::byte*)); }

std::size_t Subplan::scratch_bytes() const { return plan_->arena_bytes + in_lines(plan_->scratch_bytes); }

std::size_t Subplan::host_scratch_bytes() const {
  return table_bytes() + plan_->pinned_arena_bytes + in_lines(plan_->host_scratch_bytes);
}

void Subplan::run(const RegionMemory& region, const Frame& frame) const {
  const std::span buffers(reinterpret_cast<std::byte**>(frame.host_scratch), plan_->buffers.size());
  std::byte* pinned_arena = frame.host_scratch + table_bytes();
  bind_buffers(plan_->buffers, {region.parameter, region.result, frame.scratch, pinned_arena}, buffers);
  const Frame own{.buffers = buffers,
                  .scratch = frame.scratch + plan_->arena_bytes,
                  .host_scratch = pinned_arena + plan_->pinned_arena_bytes,
                  .queue = frame.queue,
                  .faults = frame.faults,
                  .lists = frame.lists};
  frame.lists->run(plan_, own);
}

}  // namespace tenon
