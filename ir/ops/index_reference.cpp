// References of the operators that read at places a tensor names. Elements are copied as bytes.
#include <cstring>

#include "ir/ops/index.h"
#include "ir/ops/index_places.h"
#include "ir/ops/reference.h"

namespace tenon {

PlaceList::PlaceList(const Tensor& x, const Axes& axes, InSpan indices, const Index& places)
    : count(numel(places)) {
  std::vector<Tensor> dense;
  for (const Tensor& t : indices) dense.push_back(t.to(DType::i64).expand(places).contiguous());
  std::int64_t stride = 1;
  row.assign(static_cast<std::size_t>(count), 0);
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::int64_t size = x.shape()[static_cast<std::size_t>(axes[k])];
    for (std::int64_t i = 0; i < count; ++i)
      row[static_cast<std::size_t>(i)] +=
          checked_index(dense[k].data<std::int64_t>()[i], size, axes[k], true) * stride;
    stride *= size;
  }
}

Axes listed_first(std::size_t rank, const Axes& axes) {
  Axes order = axes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
  return order;
}

Axes places_first(std::size_t rank, std::size_t front, std::size_t places) {
  Axes listed(places);
  for (std::size_t i = 0; i < places; ++i) listed[i] = static_cast<std::int64_t>(front + i);
  return listed_first(rank, listed);
}

void IndexSelect::reference(InSpan in, OutSpan out) const {
  const Tensor x = in[0].contiguous(), indices = in[1].to(DType::i64).contiguous();
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t size = x.shape()[at], count = indices.numel();
  const std::int64_t outer = numel(std::span(x.shape()).first(at));
  const auto bytes =
      static_cast<std::size_t>(numel(std::span(x.shape()).subspan(at + 1))) * size_of(x.dtype());
  std::byte* to = out[0].mutable_bytes();
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < count; ++i, to += bytes) {
      const std::int64_t source = o * size + checked_index(indices.data<std::int64_t>()[i], size, axis);
      std::memcpy(to, x.bytes() + static_cast<std::size_t>(source) * bytes, bytes);
    }
}

void Gather::reference(InSpan in, OutSpan out) const {
  const auto at = static_cast<std::size_t>(axis);
  const Tensor indices = in[1].to(DType::i64).contiguous();
  const std::size_t bytes = size_of(in[0].dtype());
  const std::int64_t* index = indices.data<std::int64_t>();
  std::byte* to = out[0].mutable_bytes();
  for_each_index(indices.shape(), [&](std::span<const std::int64_t> place) {
    std::int64_t source = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const std::int64_t p = i == at ? checked_index(*index, in[0].shape()[at], axis) : place[i];
      source += p * in[0].strides()[i];
    }
    std::memcpy(to, in[0].bytes() + source * static_cast<std::int64_t>(bytes), bytes);
    to += bytes;
    ++index;
  });
}

void IndexAt::reference(InSpan in, OutSpan out) const {
  const Tensor x = in[0].permute(listed_first(in[0].rank(), axes)).contiguous();
  const Index places = places_of(in.subspan(1));
  const PlaceList list(in[0], axes, in.subspan(1), places);
  Index shape = places;
  shape.insert(shape.end(), x.shape().begin() + static_cast<std::ptrdiff_t>(axes.size()), x.shape().end());
  Tensor rows = Tensor::empty(x.dtype(), shape);
  const auto bytes =
      static_cast<std::size_t>(numel(std::span(x.shape()).subspan(axes.size()))) * size_of(x.dtype());
  std::byte* to = rows.mutable_bytes();
  for (const std::int64_t row : list.row) {
    std::memcpy(to, x.bytes() + static_cast<std::size_t>(row) * bytes, bytes);
    to += bytes;
  }
  const Axes order = places_first(out[0].rank(), places_front(axes), places.size());
  out[0].permute(order).copy_from(rows);
}

void OneHot::reference(InSpan in, OutSpan out) const {
  const Tensor indices = in[0].to(DType::i64).contiguous();
  const std::int64_t count = classes.value();
  fill(out[0], 0);
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    const std::int64_t index = indices.data<std::int64_t>()[i];
    if (index < 0 || index >= count) throw error("index {} is out of range for {} classes", index, count);
    out[0].mutable_data<std::int64_t>()[i * count + index] = 1;
  }
}

}  // namespace tenon
