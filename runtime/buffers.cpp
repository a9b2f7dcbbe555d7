#include "runtime/buffers.h"

#include <cstring>

namespace tenon {
namespace {

std::size_t bytes_spanned(DType dtype, const Index& sizes, const Index& strides) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    last += (sizes[i] - 1) * strides[i];
  }
  return static_cast<std::size_t>(last + 1) * size_of(dtype);
}

}  // namespace

bool is_same_memory(const PlannedTensor& a, const PlannedTensor& b) {
  if (a.buffer() != b.buffer() || a.offset() != b.offset()) return false;
  for (std::size_t i = 0; i < a.rank(); ++i)
    if (a.shape()[i] > 1 && a.strides()[i] != b.strides()[i]) return false;
  return true;
}

PlannedTensor Buffers::add(Buffer buffer, DType dtype, const Index& sizes, Index strides) {
  buffer.bytes = bytes_spanned(dtype, sizes, strides);
  list_.push_back(std::move(buffer));
  return {list_.size() - 1, {dtype, sizes, std::move(strides), 0}};
}

PlannedTensor Buffers::arena(DType dtype, const Index& sizes, const Order& order,
                             FunctionRef<bool(const PlannedTensor&)> fits, std::int64_t row) {
  const Strided apart(dtype, sizes, strides_in(order, sizes, dtype, rules_, row), 0);
  if (fits(PlannedTensor({}, apart))) return add({}, dtype, sizes, apart.strides());
  return add({}, dtype, sizes, strides_in(order, sizes, dtype, {}));
}

PlannedTensor Buffers::pinned(DType dtype, const Index& sizes) {
  return add({.space = Space::pinned}, dtype, sizes, contiguous_strides(sizes));
}

PlannedTensor Buffers::external(Buffer::Kind kind, std::size_t index, DType dtype, const Index& sizes,
                                Space space) {
  return add({.kind = kind, .space = space, .index = index}, dtype, sizes, contiguous_strides(sizes));
}

PlannedTensor Buffers::constant(const Tensor& tensor, Space space) {
  const auto [it, added] = constants_.try_emplace({tensor.storage().get(), space}, list_.size());
  if (added)
    list_.push_back({.kind = Buffer::Kind::constant,
                     .space = space,
                     .bytes = tensor.storage()->bytes,
                     .storage = tensor.storage()});
  return {it->second, tensor};
}

PlannedTensor Buffers::constant(DType dtype, const Index& sizes,
                                std::function<std::shared_ptr<const Storage>()> make) {
  return add({.kind = Buffer::Kind::constant, .make = std::move(make)}, dtype, sizes,
             contiguous_strides(sizes));
}

PlannedTensor Buffers::repeated(const PlannedTensor& tensor) const {
  const Buffer& buffer = of(tensor);
  if (!buffer.storage || tensor.numel() == 0 || !tensor.is_contiguous()) return tensor;
  const std::byte* const first = buffer.storage->data + tensor.address().offset;
  const auto count_bytes = [&](std::size_t axis) {
    return static_cast<std::size_t>(numel(std::span(tensor.shape()).subspan(axis))) * size_of(tensor.dtype());
  };
  std::size_t axes = tensor.rank();
  while (axes > 0 && std::memcmp(first, first + count_bytes(axes), count_bytes(0) - count_bytes(axes)) != 0)
    --axes;
  PlannedTensor slice = tensor;
  for (std::size_t axis = 0; axis < axes; ++axis) slice = slice.slice(static_cast<std::int64_t>(axis), 0, 1);
  return slice.expand(tensor.shape());
}

void Buffers::touch(const PlannedTensor& tensor, int step) {
  Buffer& buffer = list_[tensor.buffer()];
  if (buffer.first < 0) buffer.first = step;
  buffer.last = step;
}

Strided dense_layout(const Type& type) {
  Index sizes = eval(type.shape, {});
  Index strides = contiguous_strides(sizes);
  return {type.dtype, std::move(sizes), std::move(strides), 0};
}

double bytes_of(const Strided& t) {
  return static_cast<double>(t.numel()) * static_cast<double>(size_of(t.dtype()));
}

double bytes_of(const Type& type) {
  return static_cast<double>(numel(type.shape).value()) * static_cast<double>(size_of(type.dtype));
}

Tensor over(std::span<std::byte> buffer, const Strided& layout, bool writable, Space space) {
  auto storage =
      std::make_shared<const Storage>(Storage{nullptr, buffer.data(), buffer.size(), writable, space});
  return Tensor::view_of(std::move(storage), layout.dtype(), layout.shape(), layout.strides(),
                         layout.offset());
}

void bind_buffers(std::span<const Buffer> buffers, const RunMemory& memory, std::span<std::byte*> addresses) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& b = buffers[i];
    switch (b.kind) {
      case Buffer::Kind::arena:
        addresses[i] = (b.space == Space::pinned ? memory.pinned_arena : memory.arena) + b.offset;
        break;
      case Buffer::Kind::input: addresses[i] = const_cast<std::byte*>(memory.input(b.index)); break;
      case Buffer::Kind::output: addresses[i] = memory.output(b.index); break;
      case Buffer::Kind::constant:
        addresses[i] = b.copy ? b.copy->data() : b.storage ? b.storage->data : nullptr;
        break;
    }
  }
}

}  // namespace tenon
