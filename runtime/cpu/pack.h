// Weights as the CPU's kernels read them.
#pragma once
#include "runtime/cpu/queue.h"
#include "runtime/planner.h"

namespace tenon {

/// `floats` floats in this form (WeightStore::packed), made by pack(weight, target, pool).
template <class Pack>
PlannedTensor packed_floats(Planner& planner, const Tensor& weight, const std::string& form,
                            std::int64_t floats, const Pack& pack) {
  const auto fill = [&](const Tensor& w, std::byte* target) {
    pack(w, reinterpret_cast<float*>(target), cpu_queue(planner.queue()).pool());
  };
  const std::size_t bytes = static_cast<std::size_t>(floats) * sizeof(float);
  return planner.constant(planner.weights().packed(weight, form, bytes, fill));
}

}  // namespace tenon
