#include "runtime/weight_store.h"

#include <chrono>

#include "runtime/device.h"

namespace tenon {

Tensor WeightStore::packed(const Tensor& weight, const std::string& form, std::size_t bytes,
                           FunctionRef<void(const Tensor& weight, std::byte* target)> fill) {
  const std::lock_guard lock(mutex_);
  Packed& entry = packed_[{weight.bytes(), weight.dtype(), weight.shape(), weight.strides(), form}];
  if (!entry.bytes.defined()) {
    const auto begin = std::chrono::steady_clock::now();
    auto memory = std::make_shared<Memory>(host_memory(bytes));
    auto storage = std::make_shared<const Storage>(Storage{memory, memory->data(), bytes, false});
    fill(weight, memory->data());
    entry = {weight,
             Tensor::view_of(std::move(storage), DType::u8, {static_cast<std::int64_t>(bytes)}, {1}, 0)};
    packing_ms_ +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  return entry.bytes;
}

std::byte* WeightStore::resident(const std::shared_ptr<const Storage>& storage) {
  if (device_.shares_memory) return storage->data;
  const std::lock_guard lock(mutex_);
  Memory& copy = resident_[storage];
  if (!copy.data() && storage->bytes > 0) {
    copy = device_.allocate(storage->bytes, Space::device);
    queue_.copy(copy.data(), storage->data, storage->bytes);
    queue_.wait();
  }
  return copy.data();
}

std::size_t WeightStore::packed_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [key, entry] : packed_) sum += entry.bytes.storage()->bytes;
  return sum;
}

double WeightStore::packing_ms() const {
  const std::lock_guard lock(mutex_);
  return packing_ms_;
}

}  // namespace tenon
