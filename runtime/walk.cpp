#include "runtime/walk.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

PlanWalk::PlanWalk(const Plan& plan, OpenDevice& device, std::span<const Tensor> inputs)
    : plan_(plan), device_(device), workspace_(device.device) {
  for (const Tensor& t : inputs) inputs_.push_back(t.contiguous());
  for (const Type& type : plan.outputs)
    outputs_.push_back(device.empty_result(type.dtype, eval(type.shape, {})));
  if (device.device.shares_memory) {
    workspace_.bind(
        plan, [&](std::size_t i) { return inputs_[i].bytes(); },
        [&](std::size_t i) { return outputs_[i].mutable_bytes(); });
  } else {
    workspace_.bind_staged(plan);
    workspace_.copy_inputs(plan, inputs_, *device.queue);
  }
}

void PlanWalk::run_next() {
  plan_.steps[next_++]->run(workspace_.frame(plan_, *device_.queue));
  device_.queue->wait();
  if (auto fault = plan_.failure(workspace_.faults())) throw std::move(*fault);
}

void PlanWalk::run(const Node& node) {
  const Queue::Run run(*device_.queue);
  while (next_ < plan_.steps.size() && plan_.nodes[next_] == &node) run_next();
}

std::vector<Tensor> PlanWalk::finish() {
  const Queue::Run run(*device_.queue);
  while (next_ < plan_.steps.size()) {
    TENON_CHECK(!plan_.nodes[next_]);
    run_next();
  }
  if (!device_.device.shares_memory) {
    workspace_.copy_outputs(plan_, outputs_, *device_.queue);
    device_.queue->wait();
  }
  return outputs_;
}

std::span<std::byte> PlanWalk::bytes_of(std::size_t buffer) const {
  return {workspace_.buffers()[buffer], plan_.buffers[buffer].bytes};
}

std::optional<Tensor> PlanWalk::value(const Value* value) const {
  const auto found = plan_.assigned.find(value);
  if (found == plan_.assigned.end()) return std::nullopt;
  const PlannedTensor& place = found->second;
  const Buffer& buffer = plan_.buffers[place.buffer()];
  if (buffer.kind == Buffer::Kind::constant)
    return Tensor::view_of(buffer.constant_bytes(), place.dtype(), place.shape(), place.strides(),
                           place.offset());
  const Space space = device_.device.shares_memory ? Space::host : Space::device;
  return device_.download(over(bytes_of(place.buffer()), place, true, space));
}

void PlanWalk::replace(const Value* value, const Tensor& numbers) {
  const auto found = plan_.assigned.find(value);
  if (found == plan_.assigned.end()) return;
  const PlannedTensor& place = found->second;
  const Buffer::Kind kind = plan_.buffers[place.buffer()].kind;
  if (kind == Buffer::Kind::constant || kind == Buffer::Kind::input) return;
  const std::span<std::byte> bytes = bytes_of(place.buffer());
  if (device_.device.shares_memory) return over(bytes, place, true).copy_from(numbers);
  Tensor copy = Tensor::empty(DType::u8, {static_cast<std::int64_t>(bytes.size())});
  device_.queue->copy(copy.mutable_bytes(), bytes.data(), bytes.size());
  device_.queue->wait();
  over({copy.mutable_bytes(), bytes.size()}, place, true).copy_from(numbers);
  device_.queue->copy(bytes.data(), copy.bytes(), bytes.size());
  device_.queue->wait();
}

}  // namespace tenon
