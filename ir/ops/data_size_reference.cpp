// References of the operators whose results are as large as their data says.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ir/ops/data_size.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

using Places = std::vector<std::int64_t>;

Tensor vector_of(const Places& places) {
  Tensor t = Tensor::empty(DType::i64, {static_cast<std::int64_t>(places.size())});
  std::copy(places.begin(), places.end(), t.mutable_data<std::int64_t>());
  return t;
}

bool is_zero(const Tensor& x, std::span<const std::int64_t> i) {
  return is_float(x.dtype()) ? x.get_double(i) == 0 : x.get_int(i) == 0;
}

// Order of two slices of `size` elements; NaN comes last, and differs from itself.
template <class T>
bool slice_less(const T* a, const T* b, std::int64_t size) {
  return std::lexicographical_compare(a, a + size, b, b + size, [](T x, T y) {
    if constexpr (std::is_floating_point_v<T>)
      return x < y || (std::isnan(y) && !std::isnan(x));
    else
      return x < y;
  });
}

// Classes of equal slices, in the order asked for, and the class of each slice.
struct Classes {
  Places first, of, count;
  void add(std::int64_t slice, bool fresh) {
    if (fresh) {
      first.push_back(slice);
      count.push_back(0);
    }
    of[static_cast<std::size_t>(slice)] = static_cast<std::int64_t>(first.size()) - 1;
    ++count.back();
  }
};

template <class T>
Classes classes_of(const T* data, std::int64_t slices, std::int64_t size, UniqueOrder order) {
  const auto slice = [&](std::int64_t i) { return data + i * size; };
  const auto equal = [&](std::int64_t i, std::int64_t j) {
    return std::equal(slice(i), slice(i) + size, slice(j));
  };
  Places by_value(static_cast<std::size_t>(slices));
  std::iota(by_value.begin(), by_value.end(), 0);
  if (order != UniqueOrder::runs)
    std::stable_sort(by_value.begin(), by_value.end(),
                     [&](std::int64_t i, std::int64_t j) { return slice_less(slice(i), slice(j), size); });
  Classes found;
  found.of.resize(by_value.size());
  for (std::size_t k = 0; k < by_value.size(); ++k)
    found.add(by_value[k], k == 0 || !equal(by_value[k - 1], by_value[k]));
  if (order != UniqueOrder::appearance) return found;
  Places rank(found.first.size()), position(found.first.size());
  std::iota(rank.begin(), rank.end(), 0);
  const auto at = [](const Places& p, std::int64_t i) { return p[static_cast<std::size_t>(i)]; };
  std::sort(rank.begin(), rank.end(),
            [&](std::int64_t a, std::int64_t b) { return at(found.first, a) < at(found.first, b); });
  Classes sorted{.of = found.of};
  for (std::size_t k = 0; k < rank.size(); ++k) {
    sorted.first.push_back(at(found.first, rank[k]));
    sorted.count.push_back(at(found.count, rank[k]));
    position[static_cast<std::size_t>(rank[k])] = static_cast<std::int64_t>(k);
  }
  for (std::int64_t& c : sorted.of) c = at(position, c);
  return sorted;
}

// In the boxes' own precision, as PyTorch's kernel computes it.
template <class T>
bool overlaps(const T* a, const T* b, double threshold) {
  const T area_a = (a[2] - a[0]) * (a[3] - a[1]), area_b = (b[2] - b[0]) * (b[3] - b[1]);
  const T width = std::max(T(0), std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const T height = std::max(T(0), std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const T both = width * height;
  return static_cast<double>(both / (area_a + area_b - both)) > threshold;
}

template <class T>
Places kept_boxes(const T* boxes, const T* scores, std::int64_t n, double threshold) {
  Places order(static_cast<std::size_t>(n)), kept;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
  for (const std::int64_t i : order)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](std::int64_t k) { return overlaps(boxes + 4 * k, boxes + 4 * i, threshold); }))
      kept.push_back(i);
  return kept;
}

}  // namespace

void NonZero::reference(InSpan in, OutSpan out) const {
  Places places;
  for_each_index(in[0].shape(), [&](std::span<const std::int64_t> i) {
    if (!is_zero(in[0], i)) places.insert(places.end(), i.begin(), i.end());
  });
  const auto rank = static_cast<std::int64_t>(in[0].rank());
  if (rank == 0) {
    out[0] = Tensor::empty(DType::i64, {is_zero(in[0], {}) ? 0 : 1, 0});
    return;
  }
  out[0] = vector_of(places).reshape({static_cast<std::int64_t>(places.size()) / rank, rank});
}

void CountUp::reference(InSpan in, OutSpan out) const {
  const std::int64_t n = in[0].get_int();
  if (n < 0) throw error("{} where a size is needed", n);
  if (n > std::int64_t{1} << 40) throw error("{} is too large for a size", n);
  out[0] = Tensor::empty(DType::i64, {n});
  std::iota(out[0].mutable_data<std::int64_t>(), out[0].mutable_data<std::int64_t>() + n, 0);
}

void RepeatEach::reference(InSpan in, OutSpan out) const {
  const Tensor repeats = in[0].to(DType::i64).contiguous();
  Places places;
  for (std::int64_t i = 0; i < repeats.numel(); ++i) {
    const std::int64_t times = repeats.data<std::int64_t>()[i];
    if (times < 0) throw error("repeats must not be negative: element {} is {}", i, times);
    places.insert(places.end(), static_cast<std::size_t>(times), i);
  }
  out[0] = vector_of(places);
}

void Unique::reference(InSpan in, OutSpan out) const {
  const Tensor x = widened(in[0]);
  const std::int64_t slices = x.shape()[0], size = slices == 0 ? 0 : x.numel() / slices;
  const Classes found = dispatch_wide(
      in[0].dtype(), [&]<class T>(dtype_tag<T>) { return classes_of(x.data<T>(), slices, size, order); });
  out[0] = vector_of(found.first);
  out[1] = vector_of(found.of);
  out[2] = vector_of(found.count);
}

void SuppressOverlaps::reference(InSpan in, OutSpan out) const {
  const DType dtype = in[0].dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Tensor boxes = in[0].to(dtype).contiguous(), scores = in[1].to(dtype).contiguous();
  const std::int64_t n = boxes.shape()[0];
  out[0] =
      vector_of(dtype == DType::f64 ? kept_boxes(boxes.data<double>(), scores.data<double>(), n, threshold)
                                    : kept_boxes(boxes.data<float>(), scores.data<float>(), n, threshold));
}

}  // namespace tenon
