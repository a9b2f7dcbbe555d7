#include "runtime/buffers.h"

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

PlannedTensor Buffers::add(Buffer::Kind kind, std::size_t index, DType dtype, const Index& sizes,
                           Index strides) {
  list_.push_back({.kind = kind, .bytes = bytes_spanned(dtype, sizes, strides), .index = index});
  return {list_.size() - 1, {dtype, sizes, std::move(strides), 0}};
}

PlannedTensor Buffers::arena(DType dtype, const Index& sizes, const Order& order) {
  return add(Buffer::Kind::arena, 0, dtype, sizes, strides_in(order, sizes, dtype, rules_));
}

PlannedTensor Buffers::external(Buffer::Kind kind, std::size_t index, DType dtype, const Index& sizes) {
  return add(kind, index, dtype, sizes, contiguous_strides(sizes));
}

PlannedTensor Buffers::constant(const Tensor& tensor) {
  const auto [it, added] = constants_.try_emplace(tensor.storage().get(), list_.size());
  if (added)
    list_.push_back(
        {.kind = Buffer::Kind::constant, .bytes = tensor.storage()->bytes, .storage = tensor.storage()});
  return {it->second, tensor};
}

void Buffers::touch(const PlannedTensor& tensor, int step) {
  Buffer& buffer = list_[tensor.buffer()];
  if (buffer.first < 0) buffer.first = step;
  buffer.last = step;
}

Tensor over(std::span<std::byte> buffer, const Strided& layout, bool writable) {
  auto storage = std::make_shared<const Storage>(Storage{nullptr, buffer.data(), buffer.size(), writable});
  return Tensor::view_of(std::move(storage), layout.dtype(), layout.shape(), layout.strides(),
                         layout.offset());
}

void bind_buffers(std::span<const Buffer> buffers, FunctionRef<const std::byte*(std::size_t)> input,
                  FunctionRef<std::byte*(std::size_t)> output, std::byte* arena,
                  std::span<std::byte*> places) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& b = buffers[i];
    switch (b.kind) {
      case Buffer::Kind::arena: places[i] = arena + b.offset; break;
      case Buffer::Kind::input: places[i] = const_cast<std::byte*>(input(b.index)); break;
      case Buffer::Kind::output: places[i] = output(b.index); break;
      case Buffer::Kind::constant: places[i] = b.storage->data; break;
    }
  }
}

}  // namespace tenon
