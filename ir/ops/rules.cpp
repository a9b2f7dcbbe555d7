// Checks and shape arithmetic used by the type rules.
#include "ir/ops/rules.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tenon {

void check_axis(std::int64_t axis, const Type& x) {
  if (axis < 0 || axis >= static_cast<std::int64_t>(x.rank()))
    throw error("axis {} is out of range for {}", axis, x.str());
}

void check_axes(const Axes& axes, const Type& x) {
  for (auto it = axes.begin(); it != axes.end(); ++it) {
    check_axis(*it, x);
    if (std::find(axes.begin(), it, *it) != it) throw error("axis {} is listed twice", *it);
  }
}

void check_rank(std::string_view what, const Type& x, std::size_t rank) {
  if (x.rank() != rank) throw error("{} has rank {}, not {} ({})", what, x.rank(), rank, x.str());
}

void check_float(std::string_view what, const Type& x) {
  if (!is_float(x.dtype)) throw error("{} must hold floats, it is {}", what, x.str());
}

void check_integer(std::string_view what, const Type& x) {
  if (!is_integral(x.dtype)) throw error("{} must hold integers, it is {}", what, x.str());
}

void check_same_dtype(std::string_view what_a, const Type& a, std::string_view what_b, const Type& b) {
  if (a.dtype != b.dtype)
    throw error("{} is {}, {} is {}: their dtypes differ", what_a, a.str(), what_b, b.str());
}

void check_same_size(std::string_view what_a, const Dim& a, std::string_view what_b, const Dim& b) {
  if (a == b) return;
  throw sizes_differ(fmt::format("{} is {}, {} is {}: they", what_a, a.str(), what_b, b.str()), a, b);
}

Axes last_axes(std::size_t rank, std::int64_t count) {
  Axes axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(rank) - count);
  return axes;
}

Type reduced(const Type& x, const Axes& axes, bool keepdim) {
  check_axes(axes, x);
  Type out{x.dtype, {}};
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const bool gone = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    if (!gone)
      out.shape.push_back(x.shape[i]);
    else if (keepdim)
      out.shape.push_back(1);
  }
  return out;
}

Axes spatial(std::string_view what, const Axes& values, std::size_t dims) {
  if (values.size() == dims) return values;
  if (values.size() == 1) return Axes(dims, values[0]);
  throw error("{} has {} values for {} spatial dims", what, values.size(), dims);
}

Pads spatial_pads(const Axes& pad, std::size_t dims) {
  if (pad.size() == 2 * dims && dims > 0) {
    const auto middle = pad.begin() + static_cast<std::ptrdiff_t>(dims);
    return {Axes(pad.begin(), middle), Axes(middle, pad.end())};
  }
  const Axes both = spatial("pad", pad, dims);
  return {both, both};
}

Dim window_count(const Dim& size, const Window& w) {
  if (w.stride < 1) throw error("the stride is {}, it must be at least 1", w.stride);
  if (w.dilation < 1) throw error("the dilation is {}, it must be at least 1", w.dilation);
  const Dim reach = Dim(w.dilation) * (w.kernel - 1) + 1;
  const Dim room = size + w.begin + w.end - reach;
  const std::int64_t least = w.ceil ? 1 - w.stride : 0;  // rounded up, a window may reach beyond
  if (room.is_known() && room.value() < least)
    throw error("the window spans {}, the input with its padding {}", reach.str(),
                (size + w.begin + w.end).str());
  if (!w.ceil) return floor_div(room, w.stride) + 1;
  return min(ceil_div(room, w.stride) + 1, ceil_div(size + w.begin, w.stride));
}

}  // namespace tenon
