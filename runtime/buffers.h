// The buffers of a plan while it is made: what they are, how large, and from which step to which they live.
#pragma once
#include <functional>
#include <map>
#include <vector>

#include "ir/tensor.h"
#include "ir/type.h"
#include "kernels/function_ref.h"
#include "runtime/frame.h"
#include "runtime/layout.h"
#include "runtime/memory.h"

namespace tenon {

struct Buffer {
  enum class Kind : std::uint8_t {
    arena,     // intermediate values
    input,     // given at each run
    output,    // given at each run
    constant,  // weights and what follows from them
  };
  Kind kind = Kind::arena;
  Space space =
      Space::device;  // pinned: also read and written by the host; host: a constant that the host reads
  std::size_t bytes = 0;
  std::size_t index = 0;                   // input, output: which
  std::shared_ptr<const Storage> storage;  // constant: the bytes, for the host; null where nothing reads them
  std::function<std::shared_ptr<const Storage>()> make;  // constant: makes them, where they are not there yet
  std::shared_ptr<const Memory> copy;  // constant: the same in the device's own memory, where it has one
  int first = -1, last = -1;           // steps that touch it
  /// In bytes, once laid out. arena: in the memory of its space; input, output: in the memory that stages
  /// them.
  std::size_t offset = 0;

  /// The bytes of a constant, made if need be.
  std::shared_ptr<const Storage> constant_bytes() const { return storage ? storage : make(); }
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

/// Of two tensors of one shape: does each element lie where the other's does?
bool is_same_memory(const PlannedTensor&, const PlannedTensor&);

class Buffers {
 public:
  /// The rules must outlive it.
  explicit Buffers(const MemoryRules& rules) : rules_(rules) {}

  /// New intermediate memory in this order: with the gaps of strides_in where that fits, else without any.
  PlannedTensor arena(DType dtype, const Index& sizes, const Order& order,
                      FunctionRef<bool(const PlannedTensor&)> fits, std::int64_t row = 0);
  const MemoryRules& rules() const { return rules_; }
  /// New pinned memory, dense, row-major.
  PlannedTensor pinned(DType dtype, const Index& sizes);
  /// The i-th input or output: dense, row-major.
  PlannedTensor external(Buffer::Kind kind, std::size_t index, DType dtype, const Index& sizes,
                         Space space = Space::device);
  /// A tensor with bytes of its own, to be read in this space. Tensors of one storage lie in one buffer.
  PlannedTensor constant(const Tensor& tensor, Space space = Space::device);
  /// A dense tensor whose bytes are made if a step reads it.
  PlannedTensor constant(DType dtype, const Index& sizes,
                         std::function<std::shared_ptr<const Storage>()> make);

  Buffer& operator[](std::size_t number) { return list_[number]; }
  const Buffer& of(const PlannedTensor& tensor) const { return list_[tensor.buffer()]; }
  /// The tensor as it lies; of a dense constant whose slices along its first axes are equal, one of these,
  /// stretched over its shape.
  PlannedTensor repeated(const PlannedTensor& tensor) const;
  /// Step `step` reads or writes the tensor.
  void touch(const PlannedTensor& tensor, int step);

  std::vector<Buffer>& list() { return list_; }

 private:
  PlannedTensor add(Buffer buffer, DType dtype, const Index& sizes, Index strides);
  const MemoryRules& rules_;
  std::vector<Buffer> list_;
  std::map<std::pair<const Storage*, Space>, std::size_t> constants_;
};

/// Dense, row-major; the type's sizes must be known.
Strided dense_layout(const Type&);
/// Bytes of that, and of a tensor if it were dense.
double bytes_of(const Strided&);
double bytes_of(const Type&);

/// The tensor over the bytes of its buffer.
Tensor over(std::span<std::byte> buffer, const Strided& layout, bool writable, Space space = Space::host);

/// Where the buffers of a plan lie in a run.
struct RunMemory {
  FunctionRef<const std::byte*(std::size_t)> input;  // by number
  FunctionRef<std::byte*(std::size_t)> output;
  std::byte* arena;
  std::byte* pinned_arena;
};

/// Fills `addresses`, one per buffer.
void bind_buffers(std::span<const Buffer> buffers, const RunMemory& memory, std::span<std::byte*> addresses);

}  // namespace tenon
