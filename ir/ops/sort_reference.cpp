// References of sorting: each line is sorted through its places.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "ir/ops/reference.h"
#include "ir/ops/sort.h"

namespace tenon {
namespace {

// NaN is larger than every number.
template <class T>
bool less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a < b || (std::isnan(b) && !std::isnan(a));
  else
    return a < b;
}

// The first k of each line along the axis in sorted order, equal values in their order.
void sort_lines(const Tensor& x, std::int64_t axis, bool descending, std::int64_t k, OutSpan out) {
  const Axes order = moved_last(x.rank(), {axis});
  const Tensor lines = widened(x.permute(order));
  const std::int64_t length = x.shape()[static_cast<std::size_t>(axis)];
  Index shape = lines.shape();
  shape.back() = k;
  Tensor values = Tensor::empty(lines.dtype(), shape), places = Tensor::empty(DType::i64, shape);
  std::vector<std::int64_t> place(static_cast<std::size_t>(length));
  dispatch_wide(x.dtype(), [&]<class T>(dtype_tag<T>) {
    const std::int64_t count = length == 0 ? 0 : x.numel() / length;
    for (std::int64_t line = 0; line < count; ++line) {
      const T* from = lines.data<T>() + line * length;
      std::iota(place.begin(), place.end(), 0);
      std::stable_sort(place.begin(), place.end(), [&](std::int64_t a, std::int64_t b) {
        return descending ? less(from[b], from[a]) : less(from[a], from[b]);
      });
      for (std::int64_t i = 0; i < k; ++i) {
        values.mutable_data<T>()[line * k + i] = from[place[static_cast<std::size_t>(i)]];
        places.mutable_data<std::int64_t>()[line * k + i] = place[static_cast<std::size_t>(i)];
      }
    }
  });
  out[0].copy_from(values.permute(inverse(order)));
  out[1].copy_from(places.permute(inverse(order)));
}

/// The places of a line in the order in which PyTorch counts equal values: that of std::sort, which moves
/// equal ones about. It wants an order, so lines with NaN, which equals nothing, are sorted by a stable one.
template <class T>
std::vector<std::int64_t> counted_order(const T* line, std::int64_t length) {
  std::vector<std::pair<T, std::int64_t>> elements;
  for (std::int64_t i = 0; i < length; ++i) elements.emplace_back(line[i], i);
  const bool ordered = std::all_of(line, line + length, [](T x) { return x == x; });
  if (ordered)
    std::sort(elements.begin(), elements.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  else
    std::stable_sort(elements.begin(), elements.end(),
                     [](const auto& a, const auto& b) { return less(a.first, b.first); });
  std::vector<std::int64_t> places;
  for (const auto& e : elements) places.push_back(e.second);
  return places;
}

}  // namespace

void Sort::reference(InSpan in, OutSpan out) const {
  sort_lines(in[0], axis, descending, in[0].shape()[static_cast<std::size_t>(axis)], out);
}

void TopK::reference(InSpan in, OutSpan out) const { sort_lines(in[0], axis, largest, k.value(), out); }

void SearchSorted::reference(InSpan in, OutSpan out) const {
  const Tensor rows = widened(in[0]), values = widened(in[1]);
  const std::int64_t length = rows.shape().back();
  const std::int64_t per_row = rows.rank() == 1 ? values.numel() : values.shape().back();
  Tensor places = Tensor::empty(DType::i64, values.shape());
  dispatch_wide(in[0].dtype(), [&]<class T>(dtype_tag<T>) {
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const T* first = rows.data<T>() + i / per_row * length;
      const T value = values.data<T>()[i];
      std::int64_t low = 0, high = length;
      while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        const bool is_behind = right ? first[middle] > value : first[middle] >= value;
        (is_behind ? high : low) = is_behind ? middle : middle + 1;
      }
      places.mutable_data<std::int64_t>()[i] = low;
    }
  });
  out[0].copy_from(places);
}

void Mode::reference(InSpan in, OutSpan out) const {
  const std::int64_t length = in[0].shape()[static_cast<std::size_t>(axis)];
  const Tensor lines = widened(in[0].permute(moved_last(in[0].rank(), {axis})));
  Tensor values = Tensor::empty(lines.dtype(), out[0].shape());
  Tensor places = Tensor::empty(DType::i64, out[0].shape());
  dispatch_wide(in[0].dtype(), [&]<class T>(dtype_tag<T>) {
    for (std::int64_t line = 0; line < values.numel(); ++line) {
      const T* element = lines.data<T>() + line * length;
      const std::vector<std::int64_t> place = counted_order(element, length);
      std::size_t most = 0, best = 0, run = 0;
      for (std::size_t i = 0; i < place.size(); ++i) {
        run = i > 0 && element[place[i]] == element[place[i - 1]] ? run + 1 : 1;
        if (run <= most) continue;
        most = run;
        best = i;
      }
      values.mutable_data<T>()[line] = element[place[best]];
      places.mutable_data<std::int64_t>()[line] = place[best];
    }
  });
  out[0].copy_from(values);
  out[1].copy_from(places);
}

}  // namespace tenon
