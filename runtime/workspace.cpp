#include "runtime/workspace.h"

#include <algorithm>

#include "base/alignment.h"
#include "runtime/staged_copies.h"

namespace tenon {
namespace {

void grow(Memory& memory, std::size_t bytes, const Device& device, Space space) {
  if (memory.size() >= bytes) return;
  memory = Memory();
  memory = device.allocate(bytes, space);
}

std::size_t stage_bytes_of_inputs(const Plan& plan) {
  std::size_t bytes = 0;
  for (const Buffer& b : plan.buffers)
    if (b.kind == Buffer::Kind::input) bytes += aligned_up(b.bytes, line_bytes);
  return stage_bytes(bytes);
}

}  // namespace

void Workspace::fit(const Plan& plan, std::size_t staged_bytes) {
  const std::size_t faults_bytes = aligned_up(plan.faults * sizeof(Fault), line_bytes);
  const std::size_t used =
      aligned_up(faults_bytes + plan.pinned_arena_bytes + plan.host_scratch_bytes, line_bytes);
  grow(memory_, plan.arena_bytes + plan.scratch_bytes, device_, Space::device);
  grow(pinned_, used + staged_bytes, device_, Space::pinned);
  pinned_arena_ = pinned_.data() + faults_bytes;
  stage_ = {pinned_.data() + used, pinned_.size() - used};
  faults_ = {reinterpret_cast<Fault*>(pinned_.data()), plan.faults};
  std::fill(faults_.begin(), faults_.end(), Fault{});
  buffers_.resize(plan.buffers.size());
}

void Workspace::bind(const Plan& plan, FunctionRef<const std::byte*(std::size_t)> input,
                     FunctionRef<std::byte*(std::size_t)> output) {
  fit(plan);
  bind_buffers(plan.buffers, {input, output, memory_.data(), pinned_arena_}, buffers_);
}

void Workspace::bind_staged(const Plan& plan) {
  grow(staging_, plan.staging_bytes, device_, Space::device);
  fit(plan, stage_bytes_of_inputs(plan));
  bind(
      plan, [](std::size_t) { return nullptr; }, [](std::size_t) { return nullptr; });
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer::Kind kind = plan.buffers[i].kind;
    if (kind == Buffer::Kind::input || kind == Buffer::Kind::output)
      buffers_[i] = staging_.data() + plan.buffers[i].offset;
  }
}

void Workspace::copy_inputs(const Plan& plan, std::span<const Tensor> inputs, Queue& queue) {
  Uploads uploads(queue, stage_);
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& b = plan.buffers[i];
    if (b.kind != Buffer::Kind::input || b.bytes == 0) continue;
    const Tensor& input = inputs[b.index];
    if (input.storage()->space == Space::pinned)
      queue.copy(buffers_[i], input.bytes(), b.bytes);
    else
      uploads.copy(buffers_[i], input.bytes(), b.bytes);
  }
}

void Workspace::copy_outputs(const Plan& plan, std::span<Tensor> outputs, Queue& queue) {
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& b = plan.buffers[i];
    if (b.kind == Buffer::Kind::output && b.bytes > 0)
      queue.copy(outputs[b.index].mutable_bytes(), buffers_[i], b.bytes);
  }
}

void Workspace::bind_values(const Plan& plan, std::span<const Tensor> inputs) {
  fit(plan);
  values.assign(inputs.begin(), inputs.end());
  values.resize(plan.values);
}

Frame Workspace::frame(const Plan& plan, Queue& queue) {
  return {.buffers = buffers_,
          .scratch = memory_.data() + plan.arena_bytes,
          .host_scratch = pinned_arena_ + plan.pinned_arena_bytes,
          .queue = queue,
          .faults = faults_,
          .values = values,
          .lists = &command_lists};
}

}  // namespace tenon
