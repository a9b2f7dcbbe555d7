// Pooling, whatever the device.
#pragma once
#include <optional>

#include "kernels/pool_shape.h"
#include "runtime/planner.h"

namespace tenon {

/// Of maxima with their places the values: the node's second result holds the places.
struct PoolCall {
  enum class Kind { max, average, adaptive_average, adaptive_max };
  Kind kind = Kind::max;
  const Value* x = nullptr;
  PoolShape shape;
  long output[3] = {1, 1, 1};     // d, h, w
  bool count_include_pad = true;  // average
  long divisor = 0;               // average; 0: the window's size

  /// nullopt where the group is no pool, or has more than three spatial axes.
  static std::optional<PoolCall> match(const Group&);
  Work work() const;
};

}  // namespace tenon
