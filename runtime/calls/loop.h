// Pointwise operators, row reductions and groups of them as one loop, whatever the device.
#pragma once
#include <optional>

#include "runtime/axes.h"
#include "runtime/loop_builder.h"
#include "runtime/planner.h"

namespace tenon {

struct LoopCall {
  LoopAxes axes;

  /// nullopt where the group is not one loop.
  static std::optional<LoopCall> match(const Group&);
  Work work(const Group&) const;
};

/// A loop whose results have memory.
struct PlacedLoop {
  LoweredLoop loop;
  std::vector<PlannedTensor> reads, writes;
};
/// Assigns memory to the group's results: over an operand that nobody else needs, else where they are wanted.
PlacedLoop place_loop(Planner&, const Group&, const LoopCall&);

/// The operators that loops compute on their own.
bool is_loop(const Op&);

}  // namespace tenon
