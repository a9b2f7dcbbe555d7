#include "runtime/context.h"

namespace tenon {

void Context::fit(const Plan& plan) {
  const std::size_t bytes = plan.arena_bytes + plan.scratch_bytes;
  if (arena.size() < bytes) {
    arena = Memory();
    arena = Memory(bytes);
  }
  buffers.resize(plan.buffers.size());
}

void Context::bind(const Plan& plan, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& b = plan.buffers[i];
    switch (b.kind) {
      case Buffer::Kind::arena: buffers[i] = arena.data() + b.offset; break;
      case Buffer::Kind::input: buffers[i] = const_cast<std::byte*>(inputs[b.index].bytes()); break;
      case Buffer::Kind::output: buffers[i] = outputs[b.index].mutable_bytes(); break;
      case Buffer::Kind::constant: buffers[i] = b.storage->data; break;
    }
  }
}

}  // namespace tenon
