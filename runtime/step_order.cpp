#include "runtime/step_order.h"

namespace tenon {

void StepSet::add_all(const StepSet& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
}

void StepSet::keep(const StepSet& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
}

bool StepSet::is_within(const StepSet& other) const {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if ((words_[i] & ~other.words_[i]) != 0) return false;
  return true;
}

void StepOrder::add_barrier() {
  for (std::size_t step = 0; step < size(); ++step) before_barrier_.add(step);
}

void StepOrder::add(std::span<const std::size_t> after) {
  StepSet before = before_barrier_;
  for (const std::size_t step : after) {
    before.add_all(before_[step]);
    before.add(step);
  }
  before_.push_back(std::move(before));
}

}  // namespace tenon
