// References of the operators whose results are as large as their data says.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

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

// Numbers in the order of values: equal values have equal numbers, NaN comes last.
std::uint64_t ordered(double value) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  if (std::isnan(value)) return ~std::uint64_t{0};
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // -0 becomes 0
  return bits & sign ? ~bits : bits | sign;
}
std::uint64_t ordered(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
}

// The places of values in ascending order, digit by digit; equal ones, and so NaN, as they come.
template <class T>
Places by_value(const T* values, std::int64_t n) {
  constexpr unsigned bits = 11, digits = (64 + bits - 1) / bits;
  constexpr std::size_t bins = std::size_t{1} << bits;
  struct Keyed {
    std::uint64_t key;
    std::int64_t place;
  };
  std::vector<Keyed> from(static_cast<std::size_t>(n)), to(from.size());
  std::uint64_t least = ~std::uint64_t{0}, most = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = {ordered(values[i]), static_cast<std::int64_t>(i)};
    least = std::min(least, from[i].key);
    most = std::max(most, from[i].key);
  }
  for (unsigned digit = 0; digit < digits && n > 0 && (most - least) >> (digit * bits) != 0; ++digit) {
    const auto bin = [&](const Keyed& k) { return (k.key - least) >> (digit * bits) & (bins - 1); };
    std::array<std::size_t, bins> starts{};
    for (const Keyed& k : from) ++starts[bin(k)];
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), std::size_t{0});
    for (const Keyed& k : from) to[starts[bin(k)]++] = k;
    std::swap(from, to);
  }
  Places places;
  places.reserve(from.size());
  for (const Keyed& k : from) places.push_back(k.place);
  return places;
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

// Of integers in a small range, by one look at each.
std::optional<Classes> classes_by_value(const std::int64_t* values, std::int64_t n) {
  if (n == 0) return std::nullopt;
  const auto [least, most] = std::minmax_element(values, values + n);
  const std::uint64_t range = static_cast<std::uint64_t>(*most) - static_cast<std::uint64_t>(*least);
  if (range >= 4 * static_cast<std::uint64_t>(n)) return std::nullopt;
  const auto bin = [&, low = *least](std::int64_t i) { return static_cast<std::size_t>(values[i] - low); };
  Places first(range + 1, -1), counts(range + 1), numbers(range + 1);
  for (std::int64_t i = n - 1; i >= 0; --i) first[bin(i)] = i, ++counts[bin(i)];
  Classes found;
  for (std::size_t b = 0; b <= range; ++b) {
    if (counts[b] == 0) continue;
    numbers[b] = static_cast<std::int64_t>(found.first.size());
    found.first.push_back(first[b]);
    found.count.push_back(counts[b]);
  }
  found.of.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) found.of.push_back(numbers[bin(i)]);
  return found;
}

template <class T>
Classes classes_of(const T* data, std::int64_t slices, std::int64_t size, UniqueOrder order) {
  const auto slice = [&](std::int64_t i) { return data + i * size; };
  const auto equal = [&](std::int64_t i, std::int64_t j) {
    return std::equal(slice(i), slice(i) + size, slice(j));
  };
  Classes found;
  std::optional<Classes> listed;
  if constexpr (std::is_integral_v<T>)
    if (order != UniqueOrder::runs && size == 1) listed = classes_by_value(data, slices);
  if (listed) {
    found = std::move(*listed);
  } else {
    Places sorted_slices(static_cast<std::size_t>(slices));
    std::iota(sorted_slices.begin(), sorted_slices.end(), 0);
    if (order != UniqueOrder::runs && size == 1)
      sorted_slices = by_value(data, slices);
    else if (order != UniqueOrder::runs)
      std::stable_sort(sorted_slices.begin(), sorted_slices.end(),
                       [&](std::int64_t i, std::int64_t j) { return slice_less(slice(i), slice(j), size); });
    found.of.resize(sorted_slices.size());
    for (std::size_t k = 0; k < sorted_slices.size(); ++k)
      found.add(sorted_slices[k], k == 0 || !equal(sorted_slices[k - 1], sorted_slices[k]));
  }
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
  const Tensor is_set = in[0].to(DType::boolean).contiguous();
  const bool* const set = is_set.data<bool>();
  const std::int64_t found = std::count(set, set + is_set.numel(), true);
  const std::size_t rank = is_set.rank();
  out[0] = Tensor::empty(DType::i64, {found, static_cast<std::int64_t>(rank)});
  if (found == 0 || rank == 0) return;
  auto* place = out[0].mutable_data<std::int64_t>();
  const std::int64_t columns = is_set.shape().back();
  Index row(rank - 1, 0);
  Places listed(static_cast<std::size_t>(columns) + 1);  // columns of the line; one more is written
  for (const bool* line = set; line != set + is_set.numel(); line += columns) {
    std::size_t n = 0;
    for (std::int64_t column = 0; column < columns; ++column) {
      listed[n] = column;
      n += line[column] ? 1 : 0;
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (const std::int64_t coordinate : row) *place++ = coordinate;
      *place++ = listed[i];
    }
    for (std::size_t d = row.size(); d-- > 0;) {
      if (++row[d] < is_set.shape()[d]) break;
      row[d] = 0;
    }
  }
}

std::int64_t CountUp::size_of(const Tensor& number) {
  const std::int64_t n = number.get_int();
  if (n < 0) throw error("{} where a size is needed", n);
  if (n > std::int64_t{1} << 40) throw error("{} is too large for a size", n);
  return n;
}

void CountUp::reference(InSpan in, OutSpan out) const {
  const std::int64_t n = size_of(in[0]);
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
