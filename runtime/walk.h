// A plan run node by node, so that values can be looked at, and replaced, where they lie.
#pragma once
#include <optional>

#include "base/text.h"
#include "runtime/context.h"

namespace tenon {

class PlanWalk {
 public:
  /// The plan, the queue and the inputs must outlive the walk.
  PlanWalk(const Plan& plan, Queue& queue, std::span<const Tensor> inputs);

  /// Runs the steps of this node. To be called for the nodes of plan.graph's body in their order.
  void run(const Node& node);
  /// What is left: copies of results. The outputs.
  std::vector<Tensor> finish();

  /// A view of a value, whole between the run of its node and the run of the last node that reads it. nullopt
  /// when the plan computes it together with another node.
  std::optional<Tensor> value(const Value* value) const;
  /// Writes other numbers into the value's place: the nodes that read it are run on these.
  void replace(const Value* value, const Tensor& numbers);

 private:
  const Plan& plan_;
  std::vector<Tensor> inputs_, outputs_;
  TextUse use_;  // of the strings in the context's memory
  Context context_;
  Queue& queue_;
  std::size_t next_ = 0;  // step
};

}  // namespace tenon
