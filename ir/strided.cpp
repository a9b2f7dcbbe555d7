#include "ir/strided.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace tenon {

std::int64_t numel(std::span<const std::int64_t> shape) {
  for (const std::int64_t size : shape)
    if (size < 0) throw error("the shape [{}] has a negative size", fmt::join(shape, ","));
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t product = 1;
  for (const std::int64_t size : shape)
    if (__builtin_mul_overflow(product, size, &product))
      throw error("the shape [{}] has more elements than 64 bits can count", fmt::join(shape, ","));
  return product;
}

Index contiguous_strides(std::span<const std::int64_t> shape) {
  Index strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(shape[axis], 1), &stride))
      throw error("the shape [{}] has strides that 64 bits cannot hold", fmt::join(shape, ","));
  }
  return strides;
}

std::string type_string(DType dtype, std::span<const std::int64_t> shape) {
  return fmt::format("{}[{}]", name(dtype), fmt::join(shape, ","));
}

bool Strided::is_contiguous() const {
  std::int64_t dense = 1;
  for (std::size_t axis = rank(); axis-- > 0;) {
    if (shape_[axis] == 0) return true;
    if (shape_[axis] != 1 && strides_[axis] != dense) return numel() == 0;
    dense *= shape_[axis];
  }
  return true;
}

Strided Strided::permute(std::span<const std::int64_t> axes) const {
  TENON_CHECK(axes.size() == rank());
  Strided t = *this;
  std::vector<bool> used(rank(), false);
  for (std::size_t i = 0; i < rank(); ++i) {
    TENON_CHECK(axes[i] >= 0 && axes[i] < static_cast<std::int64_t>(rank()));
    const std::size_t axis = static_cast<std::size_t>(axes[i]);
    TENON_CHECK(!used[axis]);
    used[axis] = true;
    t.shape_[i] = shape_[axis];
    t.strides_[i] = strides_[axis];
  }
  return t;
}

Strided Strided::slice(std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step) const {
  TENON_CHECK(axis >= 0 && axis < static_cast<std::int64_t>(rank()) && step != 0);
  const std::size_t at = static_cast<std::size_t>(axis);
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const std::int64_t highest = shape_[at] + lowest;
  TENON_CHECK(start >= lowest && start <= highest && end >= lowest && end <= highest);
  Strided t = *this;
  const std::int64_t distance = step > 0 ? end - start : start - end;
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const std::int64_t count =
      distance <= 0 ? 0 : static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / stride) + 1;
  t.shape_[at] = count;
  if (count > 0) t.offset_ += start * strides_[at];
  if (count > 1) t.strides_[at] *= step;
  return t;
}

Strided Strided::expand(const Index& shape) const {
  TENON_CHECK(shape.size() >= rank());
  const std::size_t added = shape.size() - rank();
  Strided t = *this;
  t.shape_ = shape;
  t.strides_.assign(shape.size(), 0);
  for (std::size_t axis = 0; axis < rank(); ++axis) {
    const bool stretched = shape_[axis] != shape[added + axis];
    TENON_CHECK(!stretched || shape_[axis] == 1);
    t.strides_[added + axis] = stretched ? 0 : strides_[axis];
  }
  static_cast<void>(t.numel());
  return t;
}

bool Strided::can_view_as(const Index& shape, Index* strides) const {
  const std::int64_t count = tenon::numel(shape);
  if (count != numel()) return false;
  Index result = contiguous_strides(shape);
  if (count == 0) {
    if (strides) *strides = shape == shape_ ? strides_ : std::move(result);
    return true;
  }
  // Walks the old axes from the last, in runs that one stride steps through; the new axes must split each
  // run.
  std::size_t next = shape.size();
  for (std::size_t axis = rank(); axis-- > 0;) {
    std::int64_t run = shape_[axis];
    std::int64_t stride = strides_[axis];
    if (run == 1) continue;
    for (; axis > 0; --axis) {
      const bool joins = shape_[axis - 1] == 1 || strides_[axis - 1] == run * stride;
      if (!joins) break;
      run *= shape_[axis - 1];
    }
    while (run > 1) {
      if (next == 0) return false;
      --next;
      if (run % shape[next] != 0) return false;
      result[next] = stride;
      stride *= shape[next];
      run /= shape[next];
    }
  }
  if (strides) *strides = std::move(result);
  return true;
}

Strided Strided::view_as(const Index& shape) const {
  Index strides;
  TENON_CHECK(can_view_as(shape, &strides));
  return {dtype_, shape, std::move(strides), offset_};
}

}  // namespace tenon
