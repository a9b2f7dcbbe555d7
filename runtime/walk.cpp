#include "runtime/walk.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

PlanWalk::PlanWalk(const Plan& plan, ThreadPool& pool, std::span<const Tensor> inputs)
    : plan_(plan), pool_(pool) {
  for (const Tensor& t : inputs) inputs_.push_back(t.contiguous());
  for (const Type& type : plan.outputs) outputs_.push_back(Tensor::empty(type.dtype, eval(type.shape, {})));
  context_.fit(plan);
  context_.bind(plan, inputs_, outputs_);
}

void PlanWalk::run(const Node& node) {
  const ThreadPool::Session spinning(pool_);
  for (; next_ < plan_.steps.size() && plan_.nodes[next_] == &node; ++next_)
    plan_.steps[next_]->run(context_.frame(plan_, pool_));
}

std::vector<Tensor> PlanWalk::finish() {
  const ThreadPool::Session spinning(pool_);
  for (; next_ < plan_.steps.size(); ++next_) {
    TENON_CHECK(!plan_.nodes[next_]);
    plan_.steps[next_]->run(context_.frame(plan_, pool_));
  }
  return outputs_;
}

std::optional<Tensor> PlanWalk::value(const Value* value) const {
  const auto found = plan_.places.find(value);
  if (found == plan_.places.end()) return std::nullopt;
  const Tensor& place = found->second;
  if (place.storage()->data) return place;  // a constant
  const auto buffer = std::find_if(plan_.buffers.begin(), plan_.buffers.end(),
                                   [&](const Buffer& b) { return b.storage == place.storage(); });
  if (buffer == plan_.buffers.end()) return std::nullopt;
  std::byte* bytes = context_.buffers[static_cast<std::size_t>(buffer - plan_.buffers.begin())];
  const auto memory = std::make_shared<const Storage>(Storage{nullptr, bytes, place.storage()->bytes});
  return Tensor::view_of(memory, place.dtype(), place.shape(), place.strides(), place.offset());
}

void PlanWalk::replace(const Value* value, const Tensor& numbers) {
  std::optional<Tensor> place = this->value(value);
  const bool input = std::any_of(inputs_.begin(), inputs_.end(), [&](const Tensor& t) {
    return place && t.numel() > 0 && place->storage()->data == t.bytes();
  });
  if (place && !plan_.places.at(value).storage()->data && !input) place->copy_from(numbers);
}

}  // namespace tenon
