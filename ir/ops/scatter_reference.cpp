// References of the operators that write at places a tensor names.
#include <cstring>
#include <limits>

#include "base/scalar.h"
#include "ir/ops/index.h"
#include "ir/ops/index_places.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

template <class T>
T identity(ScatterReduce reduce) {
  using Limits = std::numeric_limits<T>;
  switch (reduce) {
    case ScatterReduce::prod: return 1;
    case ScatterReduce::amax: return Limits::has_infinity ? -Limits::infinity() : Limits::min();
    case ScatterReduce::amin: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    default: return 0;
  }
}

template <class T>
T joined(ScatterReduce reduce, T a, T b) {
  switch (reduce) {
    case ScatterReduce::none: break;
    case ScatterReduce::sum:
    case ScatterReduce::mean: return apply(Prim::add, a, b);
    case ScatterReduce::prod: return apply(Prim::mul, a, b);
    case ScatterReduce::amax: return apply(Prim::max, a, b);
    case ScatterReduce::amin: return apply(Prim::min, a, b);
  }
  return b;
}

template <class T>
T divided(T total, std::int64_t count) {
  if constexpr (std::is_floating_point_v<T>)
    return total / static_cast<T>(count);
  else
    return total / count - (total % count < 0 ? 1 : 0);
}

// The places of the data that the elements of `indices` name, in row-major order.
std::vector<std::int64_t> targets(const Tensor& x, const Tensor& indices, std::int64_t axis) {
  const Index strides = contiguous_strides(x.shape());
  const auto at = static_cast<std::size_t>(axis);
  const Tensor dense = indices.to(DType::i64).contiguous();
  const std::int64_t* index = dense.data<std::int64_t>();
  std::vector<std::int64_t> out;
  for_each_index(indices.shape(), [&](std::span<const std::int64_t> place) {
    std::int64_t to = checked_index(*index++, x.shape()[at], axis) * strides[at];
    for (std::size_t i = 0; i < place.size(); ++i)
      if (i != at) to += place[i] * strides[i];
    out.push_back(to);
  });
  return out;
}

// The part of src that the indices cover.
Tensor covered(Tensor src, const Index& shape) {
  for (std::size_t i = 0; i < shape.size(); ++i) src = src.slice(static_cast<std::int64_t>(i), 0, shape[i]);
  return src;
}

// Rows of so many elements of any type, one for each of the rows `to` of a dense tensor.
void put_rows(const Tensor& src, std::span<const std::int64_t> to, std::int64_t width, Tensor& out) {
  const Tensor rows = src.contiguous();
  const auto bytes = static_cast<std::int64_t>(size_of(out.dtype())) * width;
  const std::byte* from = rows.bytes();
  for (const std::int64_t row : to) {
    std::memcpy(out.mutable_bytes() + row * bytes, from, static_cast<std::size_t>(bytes));
    from += bytes;
  }
}

}  // namespace

void Scatter::reference(InSpan in, OutSpan out) const {
  const std::vector<std::int64_t> to = targets(in[0], in[1], axis);
  if (reduce == ScatterReduce::none) {
    Tensor result = in[0].clone();
    put_rows(covered(in[2], in[1].shape()), to, 1, result);
    return out[0].copy_from(result);
  }
  Tensor wide = widened(in[0]).clone();
  const Tensor src = widened(covered(in[2], in[1].shape()));
  std::vector<std::int64_t> count(static_cast<std::size_t>(wide.numel()), include_self ? 1 : 0);
  const DType dtype = in[0].dtype();
  dispatch_wide(dtype, [&]<class T>(dtype_tag<T>) {
    T* y = wide.mutable_data<T>();
    const T* source = src.data<T>();
    if (!include_self)
      for (const std::int64_t place : to) y[place] = identity<T>(reduce);
    for (const std::int64_t place : to) {
      y[place] = joined(reduce, y[place], *source++);
      ++count[static_cast<std::size_t>(place)];
    }
    if (reduce != ScatterReduce::mean) return;
    if (is_integral(dtype)) {  // whose sums wrap around
      wide = wide.to(dtype).to(wide.dtype());
      y = wide.mutable_data<T>();
    }
    for (std::size_t i = 0; i < count.size(); ++i)
      if (count[i] > 1) y[i] = divided(y[i], count[i]);
  });
  out[0].copy_from(wide);
}

void IndexPut::reference(InSpan in, OutSpan out) const {
  const Axes order = listed_first(in[0].rank(), axes);
  const Tensor x = in[0].permute(order);
  const Index places = places_of(in.subspan(2));
  const PlaceList list(in[0], axes, in.subspan(2), places);
  const std::size_t front = places_front(axes);
  Index target(x.shape().begin() + static_cast<std::ptrdiff_t>(axes.size()), x.shape().end());
  const std::int64_t width = numel(target);
  target.insert(target.begin() + static_cast<std::ptrdiff_t>(front), places.begin(), places.end());
  const Tensor rows = in[1].expand(target).permute(places_first(target.size(), front, places.size()));
  if (!accumulate) {
    Tensor result = x.clone();
    put_rows(rows, list.row, width, result);
    return out[0].copy_from(result.permute(inverse(order)));
  }
  Tensor wide = widened(x).clone();
  const Tensor values = widened(rows);
  dispatch_wide(in[0].dtype(), [&]<class T>(dtype_tag<T>) {
    const T* source = values.data<T>();
    for (const std::int64_t row : list.row) {
      T* to = wide.mutable_data<T>() + row * width;
      for (std::int64_t i = 0; i < width; ++i, ++source) to[i] = apply(Prim::add, to[i], *source);
    }
  });
  out[0].copy_from(wide.permute(inverse(order)));
}

void IndexAdd::reference(InSpan in, OutSpan out) const {
  Tensor wide = widened(in[0]).clone();
  const Tensor indices = in[1].to(DType::i64).contiguous();
  const Tensor src = widened(in[2]);
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    const std::int64_t size = wide.shape()[static_cast<std::size_t>(axis)];
    const std::int64_t row = checked_index(indices.data<std::int64_t>()[i], size, axis, from_end);
    const Tensor source = src.slice(axis, i, i + 1).contiguous();
    Tensor to = wide.slice(axis, row, row + 1);
    Tensor total = to.clone();
    dispatch_wide(in[0].dtype(), [&]<class T>(dtype_tag<T>) {
      for (std::int64_t j = 0; j < total.numel(); ++j)
        total.mutable_data<T>()[j] = apply(Prim::add, total.data<T>()[j], source.data<T>()[j]);
    });
    to.copy_from(total);
  }
  out[0].copy_from(wide);
}

}  // namespace tenon
