// A region as a plan of its own, run in memory of the step that owns it.
#pragma once
#include "ir/clone.h"
#include "kernels/function_ref.h"
#include "runtime/planner.h"

namespace tenon {

/// Where the dense parameters and results of a region lie in a run, by number.
struct RegionMemory {
  FunctionRef<const std::byte*(std::size_t)> parameter;
  FunctionRef<std::byte*(std::size_t)> result;
};

class Subplan {
 public:
  /// Plans the graph of a region (region_graph) for the device of the planner around it, which is told what
  /// no kernel computes.
  Subplan(Planner& planner, std::unique_ptr<Graph> region, PlanOptions options = {});

  /// Of the step around it. The rest is there when it is compiled.
  void request() { planner_->request(); }
  void compile();

  const Plan& plan() const { return *plan_; }
  std::shared_ptr<const Plan> shared_plan() const { return plan_; }
  /// That run() needs of the frame, whole lines of 64 bytes.
  std::size_t scratch_bytes() const;
  std::size_t host_scratch_bytes() const;
  /// The frame's buffers are those of the step around it; its faults are the plan's. Where the device
  /// records, what runs at the same addresses again starts at once.
  void run(const RegionMemory& region, const Frame& frame) const;

 private:
  std::size_t table_bytes() const;
  std::unique_ptr<Planner> planner_;  // until the plan is there
  std::shared_ptr<const Plan> plan_;
};

/// Bytes of whole lines of scratch memory. cuBLASLt asks of its workspace that it begin at a multiple of 256.
inline std::size_t in_lines(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace tenon
