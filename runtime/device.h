// What plans and runs need to know of a device: how its operators become steps, its memory, and its queue.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ir/op.h"
#include "kernels/peak.h"
#include "runtime/layout.h"
#include "runtime/memory.h"
#include "runtime/queue.h"

namespace tenon {

class Group;
class PlannedTensor;
class Planner;
class Step;

/// Plans a group: gives its results places and emits its steps. Returns false without side effects if the
/// group is not supported.
using Maker = bool (*)(Planner&, const Group&);

/// An operator with kernels of its own. A fused group belongs to the entries of its anchor.
struct MakerEntry {
  const OpInfo* op;
  Maker make;
  bool channels_last = false;  // its kernels read and write N, spatial axes, C
  bool alone = false;          // plans single nodes; a group may hold the operator for other makers
};

/// Makers that look at any group: what they are called, and which operators they plan.
struct GeneralMaker {
  std::string_view name;
  Maker make;
  bool (*takes)(const Op&);
};

/// Another device is another value of this type.
struct Device {
  std::string name;                       // "cpu"
  std::span<const MakerEntry> makers;     // in order of preference; several may name one operator
  std::span<const GeneralMaker> general;  // tried afterwards
  MemoryRules memory;
  /// The host reads and writes the device's memory, at the same addresses. Where it does not, values that the
  /// host needs (conditions, operands of the interpreter) are copied to pinned memory by steps of the plan.
  bool shares_memory = true;
  /// Throws std::bad_alloc.
  Memory (*allocate)(std::size_t bytes, Space);
  /// Copies elements between places of one type and shape, both in the device's memory.
  std::unique_ptr<Step> (*make_copy)(const PlannedTensor& from, const PlannedTensor& to);
  std::string (*hardware)();     // what its speed depends on: "AMD EPYC 9B14 | avx512"
  Peak (*measure_peak)(Queue&);  // takes about half a second
  /// `threads` of the host share the work of a step; a device that computes elsewhere ignores them.
  std::unique_ptr<Queue> (*open_queue)(int threads);

  /// What runs the operator: "kernel", the name of a general maker, or "parts" where it is opened.
  std::string_view runs(const Op& op) const;
  bool works_channels_last(const Op& op) const;
};

const Device& cpu_device();

}  // namespace tenon
