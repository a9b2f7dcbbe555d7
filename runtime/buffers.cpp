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

Tensor Buffers::add(Buffer::Kind kind, std::size_t index, DType dtype, const Index& sizes, Index strides) {
  const std::size_t bytes = bytes_spanned(dtype, sizes, strides);
  auto storage =
      std::make_shared<const Storage>(Storage{nullptr, nullptr, bytes, kind != Buffer::Kind::input});
  numbers_[storage.get()] = list_.size();
  list_.push_back({.kind = kind, .index = index, .storage = storage});
  return Tensor::view_of(std::move(storage), dtype, sizes, std::move(strides), 0);
}

Tensor Buffers::arena(DType dtype, const Index& sizes, const Order& order) {
  return add(Buffer::Kind::arena, 0, dtype, sizes, strides_in(order, sizes, dtype));
}

Tensor Buffers::external(Buffer::Kind kind, std::size_t index, DType dtype, const Index& sizes) {
  return add(kind, index, dtype, sizes, contiguous_strides(sizes));
}

std::size_t Buffers::number(const Tensor& tensor) {
  const auto [it, added] = numbers_.try_emplace(tensor.storage().get(), list_.size());
  if (added) list_.push_back({.kind = Buffer::Kind::constant, .storage = tensor.storage()});
  return it->second;
}

Address Buffers::address(const Tensor& tensor) {
  return {number(tensor), tensor.offset() * static_cast<std::ptrdiff_t>(size_of(tensor.dtype()))};
}

void Buffers::touch(const Tensor& tensor, int step) {
  Buffer& buffer = list_[number(tensor)];
  if (buffer.first < 0) buffer.first = step;
  buffer.last = step;
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
