// The memory of one run of a plan.
#pragma once
#include <span>
#include <vector>

#include "runtime/command_lists.h"
#include "runtime/device.h"

namespace tenon {

/// Kept from run to run; it grows to the largest plan.
class Workspace {
 public:
  explicit Workspace(const Device& device) : device_(device) {}

  /// Makes room, forgets the faults of the run before, and says where each of the plan's buffers lies. Inputs
  /// and outputs are dense, in the device's memory.
  void bind(const Plan& plan, FunctionRef<const std::byte*(std::size_t)> input,
            FunctionRef<std::byte*(std::size_t)> output);
  /// The same, with inputs and outputs in memory of the workspace, to and from which these enqueue copies.
  /// Inputs in pageable memory are copied through pinned memory, and may change behind copy_inputs.
  void bind_staged(const Plan& plan);
  void copy_inputs(const Plan& plan, std::span<const Tensor> inputs, Queue& queue);
  void copy_outputs(const Plan& plan, std::span<Tensor> outputs, Queue& queue);
  /// For a plan that takes values.
  void bind_values(const Plan& plan, std::span<const Tensor> inputs);
  Frame frame(const Plan& plan, Queue& queue);
  /// Of the plan that was bound last, by number.
  std::span<std::byte* const> buffers() const { return buffers_; }
  std::span<const Fault> faults() const { return faults_; }

  CommandLists command_lists;  // of plans that ran in it
  std::vector<Tensor> values;  // of a run of a plan that takes values, by number

 private:
  void fit(const Plan& plan, std::size_t staged_bytes = 0);

  const Device& device_;
  Memory memory_;  // arena, scratch
  Memory staging_;
  Memory pinned_;  // faults, pinned arena, host scratch, stage
  std::span<Fault> faults_;
  std::byte* pinned_arena_ = nullptr;
  std::span<std::byte> stage_;  // of inputs
  std::vector<std::byte*> buffers_;
};

}  // namespace tenon
