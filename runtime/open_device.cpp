#include "runtime/open_device.h"

#include <new>

#include "runtime/staged_copies.h"

namespace tenon {
namespace {

Tensor taken_from(MemoryPool& pool, DType dtype, const Index& shape, Space space) {
  const std::size_t bytes = static_cast<std::size_t>(numel(shape)) * size_of(dtype);
  auto memory = pool.take(bytes);
  auto storage = std::make_shared<const Storage>(Storage{memory, memory->data(), bytes, true, space});
  return Tensor::view_of(std::move(storage), dtype, shape, contiguous_strides(shape), 0);
}

// What a copy of so many bytes goes through; null: no pinned memory is left, or there is nothing to copy.
std::shared_ptr<const Memory> stage_for(MemoryPool& pinned, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  try {
    return pinned.take(stage_bytes(bytes));
  } catch (const std::bad_alloc&) { return nullptr; }
}

std::span<std::byte> bytes_of(const Memory& memory) { return {memory.data(), memory.size()}; }

}  // namespace

Tensor OpenDevice::empty(DType dtype, const Index& shape) {
  if (!device.shares_memory) return taken_from(pool, dtype, shape, Space::device);
  if (dtype == DType::string || numel(shape) == 0) return Tensor::empty(dtype, shape);
  return taken_from(pool, dtype, shape, Space::host);
}

Tensor OpenDevice::empty_result(DType dtype, const Index& shape) {
  if (device.shares_memory || dtype == DType::string || numel(shape) == 0) return Tensor::empty(dtype, shape);
  try {
    return taken_from(pinned_pool, dtype, shape, Space::pinned);
  } catch (const std::bad_alloc&) {  // a system allows less of it than there is memory
    return Tensor::empty(dtype, shape);
  }
}

Tensor OpenDevice::upload(const Tensor& tensor) {
  if (device.shares_memory) return tensor.contiguous();
  if (tensor.storage()->space == Space::device) return tensor;
  const Tensor dense = tensor.contiguous();
  Tensor copy = empty(dense.dtype(), dense.shape());
  const std::size_t bytes = copy.storage()->bytes;
  const auto stage = dense.storage()->space == Space::pinned ? nullptr : stage_for(pinned_pool, bytes);
  if (stage)
    Uploads(*queue, bytes_of(*stage)).copy(copy.storage()->data, dense.bytes(), bytes);
  else if (bytes > 0)
    queue->copy(copy.storage()->data, dense.bytes(), bytes);
  queue->wait();
  return copy;
}

Tensor OpenDevice::download(const Tensor& tensor) {
  if (tensor.storage()->space != Space::device) return tensor;
  // The storage, whole: the view may lie anywhere in it.
  const Storage& from = *tensor.storage();
  Tensor bytes = Tensor::empty(DType::u8, {static_cast<std::int64_t>(from.bytes)});
  const auto stage = stage_for(pinned_pool, from.bytes);
  if (stage)
    tenon::download(*queue, bytes_of(*stage), bytes.mutable_bytes(), from.data, from.bytes);
  else if (from.bytes > 0)
    queue->copy(bytes.mutable_bytes(), from.data, from.bytes);
  queue->wait();
  return Tensor::view_of(bytes.storage(), tensor.dtype(), tensor.shape(), tensor.strides(), tensor.offset())
      .contiguous();
}

}  // namespace tenon
