#include "runtime/walk.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

PlanWalk::PlanWalk(const Plan& plan, Queue& queue, std::span<const Tensor> inputs)
    : plan_(plan), queue_(queue) {
  for (const Tensor& t : inputs) inputs_.push_back(t.contiguous());
  for (const Type& type : plan.outputs) outputs_.push_back(Tensor::empty(type.dtype, eval(type.shape, {})));
  context_.fit(plan);
  context_.bind(plan, inputs_, outputs_);
}

void PlanWalk::run(const Node& node) {
  const Queue::Run run(queue_);
  for (; next_ < plan_.steps.size() && plan_.nodes[next_] == &node; ++next_)
    plan_.steps[next_]->run(context_.frame(plan_, queue_));
}

std::vector<Tensor> PlanWalk::finish() {
  const Queue::Run run(queue_);
  for (; next_ < plan_.steps.size(); ++next_) {
    TENON_CHECK(!plan_.nodes[next_]);
    plan_.steps[next_]->run(context_.frame(plan_, queue_));
  }
  return outputs_;
}

std::optional<Tensor> PlanWalk::value(const Value* value) const {
  const auto found = plan_.places.find(value);
  if (found == plan_.places.end()) return std::nullopt;
  const PlannedTensor& place = found->second;
  const Buffer& buffer = plan_.buffers[place.buffer()];
  return over({context_.buffers[place.buffer()], buffer.bytes}, place, buffer.kind != Buffer::Kind::constant);
}

void PlanWalk::replace(const Value* value, const Tensor& numbers) {
  const auto found = plan_.places.find(value);
  if (found == plan_.places.end()) return;
  const Buffer::Kind kind = plan_.buffers[found->second.buffer()].kind;
  if (kind != Buffer::Kind::constant && kind != Buffer::Kind::input) this->value(value)->copy_from(numbers);
}

}  // namespace tenon
