// How the elements of an n-d array lie in memory, and the views that follow from it.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace tenon {

using Index = std::vector<std::int64_t>;

/// Elements of a shape: the product of its sizes (1 for rank 0). Throws Error on a negative size and on a
/// product beyond 64 bits.
std::int64_t numel(std::span<const std::int64_t> shape);
/// Strides in elements of a dense row-major array.
Index contiguous_strides(std::span<const std::int64_t> shape);
/// "f32[2,3]"
std::string type_string(DType, std::span<const std::int64_t> shape);

/// All of an array but its memory. Sizes and strides count elements, `offset` (of the element at index 0...0)
/// too. Strides may be zero (broadcast) or negative.
class Strided {
 public:
  Strided() = default;
  Strided(DType dtype, Index shape, Index strides, std::int64_t offset)
      : dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)), offset_(offset) {}

  DType dtype() const { return dtype_; }
  const Index& shape() const { return shape_; }
  const Index& strides() const { return strides_; }
  std::int64_t offset() const { return offset_; }
  std::size_t rank() const { return shape_.size(); }
  std::int64_t numel() const { return tenon::numel(shape_); }
  bool is_contiguous() const;
  std::string type_string() const { return tenon::type_string(dtype_, shape_); }

  Strided permute(std::span<const std::int64_t> axes) const;
  /// Elements start, start+step, ... below end along an axis; step may be negative. Bounds must be in range.
  Strided slice(std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step = 1) const;
  /// Size-1 axes stretched with stride 0; new axes come in front.
  Strided expand(const Index& shape) const;
  /// True when the same elements, in row-major order, can be seen under another shape; then `strides`
  /// receives the view's strides.
  bool can_view_as(const Index& shape, Index* strides = nullptr) const;
  /// That view. There must be one.
  Strided view_as(const Index& shape) const;

 protected:
  DType dtype_ = DType::f32;
  Index shape_, strides_;
  std::int64_t offset_ = 0;
};

/// An array type whose views are of the same type, in the same memory.
template <class Array>
class StridedArray : public Strided {
 public:
  using Strided::Strided;
  StridedArray() = default;
  explicit StridedArray(Strided layout) : Strided(std::move(layout)) {}

  Array permute(std::span<const std::int64_t> axes) const { return with(Strided::permute(axes)); }
  Array slice(std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step = 1) const {
    return with(Strided::slice(axis, start, end, step));
  }
  Array expand(const Index& shape) const { return with(Strided::expand(shape)); }
  Array view_as(const Index& shape) const { return with(Strided::view_as(shape)); }

 private:
  Array with(Strided layout) const {
    Array array = static_cast<const Array&>(*this);
    static_cast<Strided&>(array) = std::move(layout);
    return array;
  }
};

}  // namespace tenon
