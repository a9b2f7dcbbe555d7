#include "runtime/open_device.h"

#include <new>

namespace tenon {
namespace {

Tensor taken_from(MemoryPool& pool, DType dtype, const Index& shape, Space space) {
  const std::size_t bytes = static_cast<std::size_t>(numel(shape)) * size_of(dtype);
  auto memory = pool.take(bytes);
  auto storage = std::make_shared<const Storage>(Storage{memory, memory->data(), bytes, true, space});
  return Tensor::view_of(std::move(storage), dtype, shape, contiguous_strides(shape), 0);
}

}  // namespace

Tensor OpenDevice::empty(DType dtype, const Index& shape) {
  if (device.shares_memory) return Tensor::empty(dtype, shape);
  return taken_from(pool, dtype, shape, Space::device);
}

Tensor OpenDevice::empty_result(DType dtype, const Index& shape) {
  if (device.shares_memory || dtype == DType::string || numel(shape) == 0) return Tensor::empty(dtype, shape);
  try {
    return taken_from(pinned_pool, dtype, shape, Space::host);
  } catch (const std::bad_alloc&) {  // a system allows less of it than there is memory
    return Tensor::empty(dtype, shape);
  }
}

Tensor OpenDevice::upload(const Tensor& tensor) {
  if (device.shares_memory) return tensor.contiguous();
  if (tensor.storage()->space == Space::device) return tensor;
  const Tensor dense = tensor.contiguous();
  Tensor copy = empty(dense.dtype(), dense.shape());
  if (copy.storage()->bytes > 0) queue->copy(copy.storage()->data, dense.bytes(), copy.storage()->bytes);
  queue->wait();
  return copy;
}

Tensor OpenDevice::download(const Tensor& tensor) {
  if (tensor.storage()->space != Space::device) return tensor;
  // The storage, whole: the view may lie anywhere in it.
  const Storage& from = *tensor.storage();
  Tensor bytes = Tensor::empty(DType::u8, {static_cast<std::int64_t>(from.bytes)});
  if (from.bytes > 0) queue->copy(bytes.mutable_bytes(), from.data, from.bytes);
  queue->wait();
  return Tensor::view_of(bytes.storage(), tensor.dtype(), tensor.shape(), tensor.strides(), tensor.offset())
      .contiguous();
}

}  // namespace tenon
