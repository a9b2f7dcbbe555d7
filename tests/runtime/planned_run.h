// Runs a plan that a test may change first, in memory of its own.
#pragma once
#include "ir/clone.h"
#include "runtime/planner.h"
#include "runtime/workspace.h"

namespace tenon::testing {

class PlannedRun {
 public:
  /// Where it is recorded, runs from the second one on start it as a whole. The device must outlive it.
  PlannedRun(const Graph& graph, OpenDevice& device, bool is_recorded = true)
      : plan(Planner(specialize(graph, {}), device, {.is_recorded = is_recorded}).plan()),
        device_(device),
        workspace_(device.device) {}

  std::vector<Tensor> operator()(std::span<const Tensor> inputs) {
    std::vector<Tensor> outputs;
    for (const Type& type : plan->outputs) outputs.push_back(Tensor::empty(type.dtype, eval(type.shape, {})));
    Queue& queue = *device_.queue;
    const Queue::Run run(queue);
    workspace_.bind_staged(*plan);
    workspace_.copy_inputs(*plan, inputs, queue);
    workspace_.command_lists.run(plan, workspace_.frame(*plan, queue));
    workspace_.copy_outputs(*plan, outputs, queue);
    queue.wait();
    return outputs;
  }

  const std::shared_ptr<Plan> plan;

 private:
  OpenDevice& device_;
  Workspace workspace_;
};

inline bool same_bits(std::span<const Tensor> a, std::span<const Tensor> b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return std::memcmp(x.bytes(), y.bytes(), x.storage()->bytes) == 0;
  });
}

}  // namespace tenon::testing
