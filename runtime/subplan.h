// A region as a plan of its own, run in memory of the step that owns it.
#pragma once
#include "kernels/function_ref.h"
#include "runtime/planner.h"

namespace tenon {

/// What a region sees of a run: the dense bytes of its parameters and results, by number.
struct RegionBytes {
  FunctionRef<const std::byte*(std::size_t)> parameter;
  FunctionRef<std::byte*(std::size_t)> result;
};

class Subplan {
 public:
  /// Plans the region with the device, threads and packed weights of the planner around it.
  Subplan(Planner& planner, const Region& region);

  const Plan& plan() const { return *plan_; }
  std::shared_ptr<const Plan> shared_plan() const { return plan_; }
  /// That run() needs, 64-byte aligned.
  std::size_t memory_bytes() const;
  void run(const RegionBytes& bytes, std::byte* memory, Queue& queue) const;

 private:
  std::size_t table_bytes() const;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace tenon
