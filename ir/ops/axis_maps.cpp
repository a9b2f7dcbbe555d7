#include "ir/ops/axis_maps.h"

#include <algorithm>
#include <cmath>

#include "ir/ops/interpolate.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

bool is_nearest(const Interpolate& op) {
  return op.mode == InterpolateMode::nearest || op.mode == InterpolateMode::nearest_exact;
}

// The element of a line of n that stands at index i, which may lie beyond its ends.
std::int64_t padded_from(PadMode mode, std::int64_t i, std::int64_t n) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case PadMode::constant: return -1;
    case PadMode::replicate: return std::clamp<std::int64_t>(i, 0, n - 1);
    case PadMode::circular: return (i % n + n) % n;
    case PadMode::reflect: break;
  }
  return i < 0 ? -i : 2 * (n - 1) - i;
}

}  // namespace

AxisMap pad_map(const Pad& op, std::size_t axis, std::int64_t size) {
  const std::int64_t before = op.pads[axis].value(), after = op.pads[op.pads.size() / 2 + axis].value();
  AxisMap from;
  for (std::int64_t i = -before; i < size + after; ++i) from.push_back(padded_from(op.mode, i, size));
  return from;
}

// PyTorch computes indices in float; of maps (2 spatial axes), not where the size stays or doubles.
AxisMap nearest_map(const Interpolate& op, std::size_t axis, std::int64_t size, std::int64_t result_size) {
  const double factor = op.scales.empty() ? 0 : op.scales[axis - 2];
  const float ratio = factor > 0 ? static_cast<float>(1.0 / factor)
                                 : static_cast<float>(size) / static_cast<float>(result_size);
  const bool exact = op.mode == InterpolateMode::nearest_exact;
  AxisMap from;
  const std::int64_t repeats = result_size == size ? 1 : result_size == 2 * size ? 2 : 0;
  if (op.output.size() == 2 && !exact && repeats > 0) {
    for (std::int64_t i = 0; i < result_size; ++i) from.push_back(i / repeats);
    return from;
  }
  for (std::int64_t i = 0; i < result_size; ++i) {
    const float at =
        exact ? static_cast<float>((static_cast<double>(i) + 0.5) * ratio) : static_cast<float>(i) * ratio;
    from.push_back(std::min(static_cast<std::int64_t>(std::floor(at)), size - 1));
  }
  return from;
}

std::optional<std::vector<std::size_t>> mapped_axes(const Node& node) {
  std::vector<std::size_t> axes;
  if (const auto* pad = node.as<Pad>()) {
    const std::size_t rank = pad->pads.size() / 2;
    for (std::size_t axis = 0; axis < rank; ++axis)
      if (pad->pads[axis] != 0 || pad->pads[rank + axis] != 0) axes.push_back(axis);
    return axes;
  }
  const auto* resize = node.as<Interpolate>();
  if (!resize || !is_nearest(*resize)) return std::nullopt;
  for (std::size_t axis = 2; axis < node.output()->rank(); ++axis) axes.push_back(axis);
  return axes;
}

AxisMaps axis_maps(const Node& node) {
  const auto* pad = node.as<Pad>();
  AxisMaps maps{.fill = pad ? pad->value : 0};
  const std::vector<std::size_t> axes = mapped_axes(node).value();
  for (const std::size_t axis : axes) {
    const std::int64_t size = node.input()->shape()[axis].value();
    maps.axes.push_back(
        pad ? pad_map(*pad, axis, size)
            : nearest_map(*node.as<Interpolate>(), axis, size, node.output()->shape()[axis].value()));
  }
  return maps;
}

}  // namespace tenon
