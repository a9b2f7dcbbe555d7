// The buffers of a plan while it is made: what they are, how large, and from which step to which they live.
#pragma once
#include <unordered_map>
#include <vector>

#include "ir/tensor.h"
#include "kernels/function_ref.h"
#include "runtime/frame.h"
#include "runtime/layout.h"

namespace tenon {

struct Buffer {
  enum class Kind : std::uint8_t {
    arena,     // intermediate values
    input,     // given at each run
    output,    // given at each run
    constant,  // weights and what follows from them
  };
  Kind kind = Kind::arena;
  std::size_t bytes = 0;
  std::size_t index = 0;                   // input, output: which
  std::shared_ptr<const Storage> storage;  // constant: the bytes
  int first = -1, last = -1;               // arena: steps that touch it
  std::size_t offset = 0;                  // arena: bytes, once laid out
};

/// A planned value, or a view of one: how it lies in one of the plan's buffers.
class PlannedTensor : public StridedArray<PlannedTensor> {
 public:
  PlannedTensor() = default;
  PlannedTensor(std::size_t buffer, Strided layout)
      : StridedArray<PlannedTensor>(std::move(layout)), buffer_(buffer) {}

  std::size_t buffer() const { return buffer_; }
  /// Of the element at index 0...0.
  Address address() const { return {buffer_, offset() * static_cast<std::ptrdiff_t>(size_of(dtype()))}; }

 private:
  std::size_t buffer_ = 0;
};

class Buffers {
 public:
  /// The rules must outlive it.
  explicit Buffers(const MemoryRules& rules) : rules_(rules) {}

  /// New intermediate memory.
  PlannedTensor arena(DType dtype, const Index& sizes, const Order& order);
  /// The i-th input or output: dense, row-major.
  PlannedTensor external(Buffer::Kind kind, std::size_t index, DType dtype, const Index& sizes);
  /// A tensor with bytes of its own. Tensors of one storage lie in one buffer.
  PlannedTensor constant(const Tensor& tensor);

  Buffer& operator[](std::size_t number) { return list_[number]; }
  const Buffer& of(const PlannedTensor& tensor) const { return list_[tensor.buffer()]; }
  /// Step `step` reads or writes the tensor.
  void touch(const PlannedTensor& tensor, int step);

  std::vector<Buffer>& list() { return list_; }

 private:
  PlannedTensor add(Buffer::Kind kind, std::size_t index, DType dtype, const Index& sizes, Index strides);
  const MemoryRules& rules_;
  std::vector<Buffer> list_;
  std::unordered_map<const Storage*, std::size_t> constants_;
};

/// The tensor over the bytes of its buffer.
Tensor over(std::span<std::byte> buffer, const Strided& layout, bool writable);

/// Fills `places`, one per buffer, for a run: where inputs and outputs lie, and the arena.
void bind_buffers(std::span<const Buffer> buffers, FunctionRef<const std::byte*(std::size_t)> input,
                  FunctionRef<std::byte*(std::size_t)> output, std::byte* arena,
                  std::span<std::byte*> places);

}  // namespace tenon
