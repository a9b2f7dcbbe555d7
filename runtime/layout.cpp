#include "runtime/layout.h"

#include <algorithm>
#include <numeric>

namespace tenon {

Order row_major(std::size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

Order channels_last(std::size_t rank) {
  Order order = row_major(rank);
  if (rank >= 3) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

Order order_of(const Strided& array) {
  Order order = row_major(array.rank());
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return array.strides()[static_cast<std::size_t>(a)] > array.strides()[static_cast<std::size_t>(b)];
  });
  return order;
}

bool is_channels_last(const Strided& array) {
  if (array.rank() < 3 || array.shape()[1] == 1) return false;
  return array.strides()[1] == 1 && !array.is_contiguous();
}

bool last_axis_is_contiguous(const Strided& array) {
  return array.rank() == 0 || array.shape().back() == 1 || array.strides().back() == 1;
}

Index strides_in(const Order& order, const Index& sizes, DType dtype, const MemoryRules& rules,
                 std::int64_t row) {
  Index strides(sizes.size());
  std::int64_t stride = 1;
  if (row == 0 && !order.empty() && order != row_major(order.size()))
    row = std::max<std::int64_t>(sizes[static_cast<std::size_t>(order.back())], 1);
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  const bool has_gaps = rules.row_period > 0 && row > 0 && row * item % rules.row_period == 0;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(sizes[axis], 1);
    if (has_gaps && stride == row) stride += rules.row_gap / item;
  }
  return strides;
}

std::optional<std::int64_t> row_stride(const Strided& array, const Order& order) {
  if (order.empty()) return 1;
  const Strided ordered = array.permute(order);
  const std::int64_t columns = ordered.shape().back();
  const std::int64_t rows = columns == 0 ? 0 : ordered.numel() / columns;
  Index strides;
  if (!ordered.can_view_as({rows, columns}, &strides)) return std::nullopt;
  if (columns > 1 && strides[1] != 1) return std::nullopt;
  if (rows > 1 && strides[0] < columns) return std::nullopt;
  return std::max(strides[0], columns);
}

}  // namespace tenon
