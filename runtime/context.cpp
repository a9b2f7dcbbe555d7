#include "runtime/context.h"

namespace tenon {

void Context::fit(const Plan& plan) {
  const std::size_t bytes = plan.arena_bytes + plan.scratch_bytes;
  if (arena.size() < bytes) {
    arena = Memory();
    arena = Memory(bytes);
    arena.touch();
  }
  buffers.resize(plan.buffers.size());
}

void Context::bind(const Plan& plan, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  bind_buffers(
      plan.buffers, [&](std::size_t i) { return inputs[i].bytes(); },
      [&](std::size_t i) { return outputs[i].mutable_bytes(); }, arena.data(), buffers);
  if (!plan.takes_values()) return;
  values.assign(inputs.begin(), inputs.end());
  values.resize(plan.values);
}

}  // namespace tenon
