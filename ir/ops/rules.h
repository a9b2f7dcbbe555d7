// What the type rules of several families share: checks with exact messages, and window arithmetic.
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/type.h"

namespace tenon {

using Axes = std::vector<std::int64_t>;

/// Throws Error unless 0 <= axis < rank.
void check_axis(std::int64_t axis, const Type& x);
/// Throws Error when an axis is out of range or listed twice.
void check_axes(const Axes& axes, const Type& x);
void check_rank(std::string_view what, const Type& x, std::size_t rank);
void check_float(std::string_view what, const Type& x);
void check_integer(std::string_view what, const Type& x);
void check_same_dtype(std::string_view what_a, const Type& a, std::string_view what_b, const Type& b);
/// Throws Error unless the sizes are known to be equal.
void check_same_size(std::string_view what_a, const Dim& a, std::string_view what_b, const Dim& b);

/// The last `count` of `rank` axes.
Axes last_axes(std::size_t rank, std::int64_t count);
/// Type of a reduction over axes.
Type reduced(const Type& x, const Axes& axes, bool keepdim);
/// One value per spatial dim from an attribute that holds one for all, or one each.
Axes spatial(std::string_view what, const Axes& values, std::size_t dims);
/// Padding before and after each spatial dim, from 1, n or 2n values.
struct Pads {
  Axes begin, end;
};
Pads spatial_pads(const Axes& pad, std::size_t dims);

/// Windows that slide over one axis.
struct Window {
  Dim kernel;
  std::int64_t stride = 1, begin = 0, end = 0, dilation = 1;
  bool ceil = false;
};
/// Number of positions of the window: (size + begin + end - dilation * (kernel - 1) - 1) // stride + 1; with
/// ceil rounded up, where the last window starts inside the input or the padding before it (PyTorch's rule).
/// Throws Error when the window is larger than the padded input, with ceil by a stride or more.
Dim window_count(const Dim& size, const Window&);

}  // namespace tenon
