#include "runtime/pack_cache.h"

#include <chrono>

#include "runtime/memory.h"

namespace tenon {

Tensor PackCache::get(const Tensor& weight, const std::string& form, std::int64_t floats,
                      FunctionRef<void(const Tensor& weight, float* target)> fill) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[{weight.bytes(), weight.dtype(), weight.shape(), weight.strides(), form}];
  if (!entry.packed.defined()) {
    const auto begin = std::chrono::steady_clock::now();
    const std::size_t bytes = static_cast<std::size_t>(floats) * sizeof(float);
    auto memory = std::make_shared<Memory>(bytes);
    auto storage = std::make_shared<const Storage>(Storage{memory, memory->data(), bytes, false});
    fill(weight, reinterpret_cast<float*>(memory->data()));
    entry = {weight, Tensor::view_of(std::move(storage), DType::f32, {floats}, {1}, 0)};
    packing_ms_ +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  return entry.packed;
}

std::size_t PackCache::bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [key, entry] : entries_) sum += entry.packed.storage()->bytes;
  return sum;
}

double PackCache::packing_ms() const {
  const std::lock_guard lock(mutex_);
  return packing_ms_;
}

}  // namespace tenon
