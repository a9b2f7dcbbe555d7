// Values that are 8-bit integers times a constant, however the graph spells it.
#pragma once
#include <optional>

#include "runtime/constant_value.h"

namespace tenon {

/// All numbers of a value are whole multiples of a scale: least * scale to (least + 255) * scale.
struct NumberGrid {
  float scale;
  int least;
};

/// Of a float32 value (integer - zero point) * scale with constant numbers, which stands in the body of a
/// fused node (null: none). nullopt where the graph does not show it.
std::optional<NumberGrid> grid_of(const Value* value, const Node* group = nullptr);

}  // namespace tenon
