// Copies between tensors of any strides and dtypes: rows along the axis that both sides walk best.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ir/element.h"
#include "ir/tensor.h"

namespace tenon {
namespace {
// Sizes, and byte strides of both sides.
struct Axis {
  std::int64_t size, to, from;
};

struct Row {
  std::byte* to;
  const std::byte* from;
  Axis axis;
};

template <class To, class From>
void convert_row(const Row& row) {
  std::byte* to = row.to;
  const std::byte* from = row.from;
  const auto [size, to_stride, from_stride] = row.axis;
  if (to_stride == sizeof(To) && from_stride == sizeof(From)) {
    for (std::int64_t i = 0; i < size; ++i)
      store(to + i * std::int64_t{sizeof(To)},
            convert_element<To>(load<From>(from + i * std::int64_t{sizeof(From)})));
    return;
  }
  for (std::int64_t i = 0; i < size; ++i)
    store(to + i * to_stride, convert_element<To>(load<From>(from + i * from_stride)));
}

template <std::size_t bytes>
void copy_row(const Row& row) {
  const auto [size, to_stride, from_stride] = row.axis;
  if (to_stride == bytes && from_stride == bytes) {
    std::memcpy(row.to, row.from, static_cast<std::size_t>(size) * bytes);
    return;
  }
  for (std::int64_t i = 0; i < size; ++i)
    std::memcpy(row.to + i * to_stride, row.from + i * from_stride, bytes);
}

using RowFunction = void (*)(const Row&);

RowFunction same_dtype_row(std::size_t bytes) {
  switch (bytes) {
    case 1: return copy_row<1>;
    case 2: return copy_row<2>;
    case 4: return copy_row<4>;
    case 8: return copy_row<8>;
    default: return copy_row<16>;
  }
}

RowFunction row_function(DType to, DType from) {
  if (to == from) return same_dtype_row(size_of(to));
  return dispatch_element(to, [&]<class To>(dtype_tag<To>) -> RowFunction {
    return dispatch_element(
        from, [&]<class From>(dtype_tag<From>) -> RowFunction { return convert_row<To, From>; });
  });
}

// The axes, outermost first in the destination's memory, neighbours joined where both sides are dense.
std::vector<Axis> loop_nest(const Tensor& to, const Tensor& from) {
  const std::int64_t to_size = static_cast<std::int64_t>(size_of(to.dtype()));
  const std::int64_t from_size = static_cast<std::int64_t>(size_of(from.dtype()));
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < to.rank(); ++i)
    if (to.shape()[i] != 1)
      axes.push_back({to.shape()[i], to.strides()[i] * to_size, from.strides()[i] * from_size});
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); });
  std::vector<Axis> joined;
  for (const Axis& axis : axes) {
    const bool joins = !joined.empty() && joined.back().to == axis.size * axis.to &&
                       joined.back().from == axis.size * axis.from;
    if (joins)
      joined.back() = {joined.back().size * axis.size, axis.to, axis.from};
    else
      joined.push_back(axis);
  }
  if (joined.empty()) joined.push_back({1, to_size, from_size});
  return joined;
}

// A transpose reads across rows: in tiles, so that each cache line is used whole while it is there.
constexpr std::int64_t tile = 32;

void copy_plane(RowFunction copy, const Row& row, const Axis& outer) {
  const Axis& inner = row.axis;
  const bool crosses = std::abs(outer.from) < std::abs(inner.from) && outer.from != 0;
  const std::int64_t rows = crosses ? tile : outer.size;
  const std::int64_t columns = crosses ? tile : inner.size;
  for (std::int64_t r = 0; r < outer.size; r += rows) {
    for (std::int64_t c = 0; c < inner.size; c += columns) {
      const std::int64_t width = std::min(columns, inner.size - c);
      for (std::int64_t i = r; i < std::min(r + rows, outer.size); ++i)
        copy({row.to + i * outer.to + c * inner.to,
              row.from + i * outer.from + c * inner.from,
              {width, inner.to, inner.from}});
    }
  }
}

void copy_nest(RowFunction copy, const Row& row, std::span<const Axis> outer) {
  if (outer.empty()) return copy(row);
  if (outer.size() == 1) return copy_plane(copy, row, outer[0]);
  for (std::int64_t i = 0; i < outer[0].size; ++i)
    copy_nest(copy, {row.to + i * outer[0].to, row.from + i * outer[0].from, row.axis}, outer.subspan(1));
}
}  // namespace

void Tensor::copy_from(const Tensor& other) {
  TENON_CHECK(other.defined() && other.shape_ == shape_);
  if (numel() == 0) return;
  std::byte* to = mutable_bytes();
  const bool shares = storage_->data == other.storage_->data;
  if (shares && dtype_ == other.dtype_ && offset_ == other.offset_ && strides_ == other.strides_) return;
  if (shares) return copy_from(other.clone());
  const std::vector<Axis> axes = loop_nest(*this, other);
  const Row row{to, other.bytes(), axes.back()};
  copy_nest(row_function(dtype_, other.dtype_), row, std::span(axes).first(axes.size() - 1));
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::clone() const {
  Tensor t = empty(dtype_, shape_);
  t.copy_from(*this);
  return t;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor t = empty(dtype, shape_);
  t.copy_from(*this);
  return t;
}

}  // namespace tenon
