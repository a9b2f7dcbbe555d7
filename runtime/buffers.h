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
  std::size_t index = 0;                   // input, output: which
  std::shared_ptr<const Storage> storage;  // constant: the bytes; the others have none before a run
  int first = -1, last = -1;               // arena: steps that touch it
  std::size_t offset = 0;                  // arena: bytes, once laid out
};

/// A planned value is a Tensor whose storage stands for a buffer, so that views of planned values are views
/// of tensors. Its bytes exist only while a plan runs: Address says where.
class Buffers {
 public:
  /// New intermediate memory.
  Tensor arena(DType dtype, const Index& sizes, const Order& order);
  /// The i-th input or output: dense, row-major.
  Tensor external(Buffer::Kind kind, std::size_t index, DType dtype, const Index& sizes);

  /// The buffer a tensor lies in. Tensors with bytes of their own become constants.
  std::size_t number(const Tensor& tensor);
  Buffer& operator[](std::size_t number) { return list_[number]; }
  Address address(const Tensor& tensor);
  /// Step `step` reads or writes the tensor.
  void touch(const Tensor& tensor, int step);

  std::vector<Buffer>& list() { return list_; }

 private:
  Tensor add(Buffer::Kind kind, std::size_t index, DType dtype, const Index& sizes, Index strides);
  std::vector<Buffer> list_;
  std::unordered_map<const Storage*, std::size_t> numbers_;
};

/// Fills `places`, one per buffer, for a run: where inputs and outputs lie, and the arena.
void bind_buffers(std::span<const Buffer> buffers, FunctionRef<const std::byte*(std::size_t)> input,
                  FunctionRef<std::byte*(std::size_t)> output, std::byte* arena,
                  std::span<std::byte*> places);

}  // namespace tenon
