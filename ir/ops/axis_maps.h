// Operators that read their operand at other indices, axis by axis: padding, and resizing to the nearest
// element.
#pragma once
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace tenon {

struct Interpolate;
struct Pad;

/// For each index along an axis of the result: the operand's index along it, or -1 for the fill value.
using AxisMap = std::vector<std::int64_t>;
AxisMap pad_map(const Pad&, std::size_t axis, std::int64_t size);
AxisMap nearest_map(const Interpolate&, std::size_t axis, std::int64_t size, std::int64_t result_size);

/// The axes whose indices change; nullopt for operators that compute anything else.
std::optional<std::vector<std::size_t>> mapped_axes(const Node&);

struct AxisMaps {
  std::vector<AxisMap> axes;  // of the mapped axes, in their order
  double fill = 0;
};
/// Of a node that has mapped axes; its sizes must be known.
AxisMaps axis_maps(const Node&);

}  // namespace tenon
