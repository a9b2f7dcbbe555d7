// What a step sees while a plan runs: where each buffer lies, scratch memory, and the queue it runs in.
#pragma once
#include <cstddef>
#include <span>

#include "ir/tensor.h"
#include "runtime/queue.h"

namespace tenon {

/// A place in one of a plan's buffers.
struct Address {
  std::size_t buffer = 0;
  std::ptrdiff_t offset = 0;  // bytes
};

struct Frame {
  std::span<std::byte* const> buffers;  // by number; read-only ones (inputs, constants) are not written to
  std::byte* scratch = nullptr;         // 64-byte aligned, as large as the plan's steps asked for
  Queue& queue;
  std::span<Tensor> values = {};  // of plans whose sizes are given while they run

  template <class T>
  T* at(const Address& address) const {
    return reinterpret_cast<T*>(buffers[address.buffer] + address.offset);
  }
};

}  // namespace tenon
