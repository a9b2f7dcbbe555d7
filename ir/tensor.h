// A strided n-d array: dtype, shape, strides and a share of a storage. Views share the storage.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/strided.h"

namespace tenon {

/// Who reads and writes memory: the host; the host and a device; a device alone. A device that shares the
/// host's memory has one kind.
enum class Space : std::uint8_t { host, pinned, device };

/// Bytes with an owner: heap memory, a part of a mapped file kept alive by `owner`, or memory of a device.
struct Storage {
  std::shared_ptr<const void> owner;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool writable = true;
  Space space = Space::host;
};

/// Value type; copies and views share the storage. Writing through a read-only storage is an internal error.
class Tensor : public StridedArray<Tensor> {
 public:
  Tensor() = default;
  /// Uninitialised, dense, row-major, 64-byte aligned; large ones begin where a page does.
  static Tensor empty(DType, Index shape);
  static Tensor zeros(DType, Index shape);
  /// A rank-0 tensor; the value is converted to dtype.
  static Tensor scalar(DType, double value);
  static Tensor scalar(DType, std::int64_t value);
  /// Dense copy of the values, converted to dtype.
  template <class T>
  static Tensor of(DType, Index shape, std::initializer_list<T> values);
  /// Bytes someone else keeps (a mapped file). Throws Error when shape, strides and offset reach beyond, or
  /// the bytes are not aligned to the elements.
  static Tensor view_of(std::shared_ptr<const Storage>, DType, Index shape, Index strides,
                        std::int64_t offset);

  bool defined() const { return storage_ != nullptr; }
  const std::shared_ptr<const Storage>& storage() const { return storage_; }

  /// Where the element at index 0...0 lies, in whatever space.
  std::byte* address() const;
  /// The same, to be read or written by the host: a tensor in a device's own memory is an internal error.
  const std::byte* bytes() const;
  std::byte* mutable_bytes();
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes());
  }
  template <class T>
  T* mutable_data() {
    return reinterpret_cast<T*>(mutable_bytes());
  }

  /// The same elements in row-major order under another shape: a view when strides allow, else a copy.
  Tensor reshape(const Index& shape) const;
  /// The same elements, their bytes read as another dtype of the same size.
  Tensor bits_as(DType) const;

  /// Itself when dense row-major, else a dense copy.
  Tensor contiguous() const;
  /// A dense copy with its own storage.
  Tensor clone() const;
  /// Elements converted to dtype: floats to integers truncate (what does not fit gives what PyTorch's CPU
  /// gives), to bool is "not zero", complex to real drops the imaginary part.
  Tensor to(DType) const;
  /// Copies other's elements (same shape, any dtype and strides, overlap allowed) into this view.
  void copy_from(const Tensor& other);

  /// One element, converted. `index` has rank() entries.
  double get_double(std::span<const std::int64_t> index = {}) const;
  std::int64_t get_int(std::span<const std::int64_t> index = {}) const;
  void set_double(std::span<const std::int64_t> index, double value);
  void set_int(std::span<const std::int64_t> index, std::int64_t value);

 private:
  std::shared_ptr<const Storage> storage_;
};

/// Calls f(linear index list) for each index of a shape, row-major. f takes a span of rank entries.
template <class F>
void for_each_index(std::span<const std::int64_t> shape, F&& f) {
  if (tenon::numel(shape) == 0) return;
  Index index(shape.size(), 0);
  while (true) {
    f(std::span<const std::int64_t>(index));
    std::size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

template <class T>
Tensor Tensor::of(DType dtype, Index shape, std::initializer_list<T> values) {
  Tensor t = empty(dtype, std::move(shape));
  TENON_CHECK(static_cast<std::int64_t>(values.size()) == t.numel());
  auto it = values.begin();
  for_each_index(t.shape(), [&](std::span<const std::int64_t> i) {
    if constexpr (std::is_floating_point_v<T>)
      t.set_double(i, *it++);
    else
      t.set_int(i, static_cast<std::int64_t>(*it++));
  });
  return t;
}

}  // namespace tenon
