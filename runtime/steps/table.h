// Which makers plan which operators on the CPU.
#pragma once
#include <span>

#include "runtime/planner.h"

namespace tenon {

/// Plans a group: gives its results places and emits its steps. Returns false, having done neither, when the
/// group is not what it handles.
using Maker = bool (*)(Planner&, const Group&);

/// An operator with kernels of its own. A fused group belongs to the entry of its anchor.
struct MakerEntry {
  const OpInfo* op;
  Maker make;
  bool channels_last = false;  // its kernels read and write N, spatial axes, C
};

/// In order of preference; several entries may name one operator.
std::span<const MakerEntry> maker_table();
/// Makers that look at any group: tried after the table.
std::span<const Maker> general_makers();
/// Whether kernels for this operator work on channels-last memory.
bool works_channels_last(const Op& op);

}  // namespace tenon
