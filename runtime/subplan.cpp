#include "runtime/subplan.h"

#include "ir/clone.h"

namespace tenon {

Subplan::Subplan(Planner& planner, const Region& region)
    : plan_(Planner(region_graph(region), planner.device(), planner.queue(), planner.packs()).plan()) {}

// The table of the buffers' places stands before the arena.
std::size_t Subplan::table_bytes() const {
  return (plan_->buffers.size() * sizeof(std::byte*) + 63) / 64 * 64;
}

std::size_t Subplan::memory_bytes() const {
  return table_bytes() + plan_->arena_bytes + (plan_->scratch_bytes + 63) / 64 * 64;
}

void Subplan::run(const RegionBytes& bytes, std::byte* memory, Queue& queue) const {
  const std::span buffers(reinterpret_cast<std::byte**>(memory), plan_->buffers.size());
  std::byte* arena = memory + table_bytes();
  bind_buffers(plan_->buffers, bytes.parameter, bytes.result, arena, buffers);
  const Frame frame{buffers, arena + plan_->arena_bytes, queue};
  for (const auto& step : plan_->steps) step->run(frame);
}

}  // namespace tenon
