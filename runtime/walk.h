// A plan run node by node, so that values can be looked at, and replaced, where they lie.
#pragma once
#include <optional>

#include "base/text.h"
#include "runtime/open_device.h"
#include "runtime/workspace.h"

namespace tenon {

class PlanWalk {
 public:
  /// The plan and the device must outlive the walk.
  PlanWalk(const Plan& plan, OpenDevice& device, std::span<const Tensor> inputs);

  /// Runs the steps of this node. To be called for the nodes of plan.graph's body in their order.
  void run(const Node& node);
  /// What is left: copies of results. The outputs.
  std::vector<Tensor> finish();

  /// A view of a value, or a copy where the host does not see the device's memory; whole between the run of
  /// its node and the run of the last node that reads it. nullopt when the plan computes it together with
  /// another node.
  std::optional<Tensor> value(const Value* value) const;
  /// Writes other numbers into the value's place: the nodes that read it are run on these.
  void replace(const Value* value, const Tensor& numbers);

 private:
  void run_next();
  std::span<std::byte> bytes_of(std::size_t buffer) const;
  const Plan& plan_;
  std::vector<Tensor> inputs_, outputs_;
  TextUse use_;  // of the strings in the workspace's memory
  OpenDevice& device_;
  Workspace workspace_;
  std::size_t next_ = 0;  // step
};

}  // namespace tenon
