// The memory of one run of a plan.
#pragma once
#include <span>
#include <vector>

#include "runtime/memory.h"
#include "runtime/plan.h"

namespace tenon {

/// Kept from run to run; it grows to the largest plan.
struct Context {
  Memory arena;
  std::vector<std::byte*> buffers;  // of the plan that was bound last, by number
  std::vector<Tensor> values;       // of a run, by number

  void fit(const Plan& plan);
  /// Says where each of the plan's buffers lies. Inputs and outputs are dense.
  void bind(const Plan& plan, std::span<const Tensor> inputs, std::span<Tensor> outputs);
  Frame frame(const Plan& plan, Queue& queue) {
    return {buffers, arena.data() + plan.arena_bytes, queue, values};
  }
};

}  // namespace tenon
