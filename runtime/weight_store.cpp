#include "runtime/weight_store.h"

#include <chrono>

#include "base/mapped_file.h"
#include "runtime/device.h"

namespace tenon {
namespace {

// Kernels read the packed form: the file's pages need no memory of this process any more.
void give_back(const Tensor& weight) {
  if (weight.numel() == 0) return;
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < weight.shape().size(); ++axis)
    last += (weight.shape()[axis] - 1) * weight.strides()[axis];
  give_back_pages({weight.bytes(), static_cast<std::size_t>(last + 1) * size_of(weight.dtype())});
}

}  // namespace

Tensor WeightStore::packed(const Tensor& weight, const std::string& form, std::size_t bytes,
                           FunctionRef<void(const Tensor& weight, std::byte* target)> fill) {
  const std::lock_guard lock(mutex_);
  Packed& entry = packed_[{weight.bytes(), weight.dtype(), weight.shape(), weight.strides(), form}];
  if (!entry.bytes.defined()) {
    const auto begin = std::chrono::steady_clock::now();
    auto memory = std::make_shared<Memory>(host_memory(bytes));
    auto storage = std::make_shared<const Storage>(Storage{memory, memory->data(), bytes, false});
    fill(weight, memory->data());
    give_back(weight);
    entry = {weight,
             Tensor::view_of(std::move(storage), DType::u8, {static_cast<std::int64_t>(bytes)}, {1}, 0)};
    packing_ms_ +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  return entry.bytes;
}

std::shared_ptr<const Memory> WeightStore::resident(const Storage& storage) {
  const std::lock_guard lock(mutex_);
  std::erase_if(resident_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const Memory>& known = resident_[&storage];
  auto copy = known.lock();
  if (copy) return copy;
  copy = std::make_shared<const Memory>(device_.allocate(storage.bytes, Space::device));
  if (storage.bytes > 0) queue_.copy(copy->data(), storage.data, storage.bytes);
  queue_.wait();
  known = copy;
  return copy;
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
