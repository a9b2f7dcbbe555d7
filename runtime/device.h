// What plans and runs need to know of a device: how its operators become steps, its memory, and its queue.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ir/op.h"
#include "kernels/peak.h"
#include "runtime/candidate.h"
#include "runtime/layout.h"
#include "runtime/memory.h"
#include "runtime/queue.h"

namespace tenon {

class PlannedTensor;
class Step;
struct OpenDevice;
class WeightStore;

/// How an operator with kernels of its own is lowered. A fused group belongs to its members' operators.
struct OpLowering {
  const OpInfo* op;
  Lowering lower;
  bool channels_last = false;  // its kernels read and write N, spatial axes, C
  bool alone = false;          // lowers single nodes; a group may hold the operator for other kernels
  bool widens = false;  // of floats only f32: those of 16 and 8 bits are cast around it (runtime/widen.h)
  /// Of one that widens: members of groups that read and write bfloat16 as it lies in memory. Null: none do.
  bool (*reads_halves)(const Node& member, const Group&) = nullptr;
  bool (*writes_halves)(const Node& member, const Group&) = nullptr;
  /// Members that multiply bytes: the image that they read may lie in memory so, and their group's result
  /// (runtime/byte_images.h). Null: none do.
  bool (*takes_bytes)(const Node& member, const Group&, WeightStore&) = nullptr;
};

/// How any group is lowered: what runs it is called, and the operators that it lowers on their own.
struct GeneralLowering {
  std::string_view name;
  Lowering lower;
  bool (*takes)(const Op&);
};

/// How an operator that gives sizes (ir/ops/data_size.h) is computed where the host reads the device's
/// memory, from dense operands. Results that nothing uses may be undefined.
struct SizedKernel {
  const OpInfo* op;
  std::vector<Tensor> (*compute)(const Node&, std::span<const Tensor> in, OpenDevice&);
};

/// Another device is another value of this type.
struct Device {
  std::string name;                          // "cpu"
  std::span<const OpLowering> lowerings;     // several may name one operator
  std::span<const GeneralLowering> general;  // for groups of any operators
  std::span<const SizedKernel> sized = {};   // for single nodes; the reference computes the others
  std::string_view advice = {};              // to those whose operators it does not lower
  bool takes_tf32 = false;                   // products of float32 may round their factors to TF32
  bool computes_prologues = false;           // products compute their left side (runtime/calls/prologue.h)
  bool multiplies_bytes = false;             // products read bytes and their zero points (read_bytes)
  Knobs knobs = {};                          // that every candidate has
  MemoryRules memory;
  /// The host reads and writes the device's memory, at the same addresses. Where it does not, values that the
  /// host needs (conditions, operands of the interpreter) are copied to pinned memory by steps of the plan.
  bool shares_memory = true;
  /// Throws std::bad_alloc.
  std::function<Memory(std::size_t bytes, Space)> allocate;
  /// Copies elements between two tensors of one type and shape, both in the device's memory.
  std::function<std::unique_ptr<Step>(const PlannedTensor& from, const PlannedTensor& to)> make_copy;
  std::function<std::string()> hardware;     // what its speed depends on: "AMD EPYC 9B14 | avx512"
  std::function<std::string()> software;     // versions of its driver and compiler; null: it needs none
  std::function<Peak(Queue&)> measure_peak;  // takes about half a second
  /// Seconds that a kernel takes which does `cost` operations, counted as a dense product would run them, and
  /// moves so many bytes. It assumes the same rates on every machine, so that plans are the same, too.
  std::function<double(int threads, double cost, double bytes)> estimate;
  /// `threads` of the host share the work of a step; a device that computes elsewhere ignores them.
  std::function<std::unique_ptr<Queue>(int threads)> open_queue;

  /// What runs it: "kernel", the name of a general lowering, "parts" where it is decomposed, or "nothing".
  std::string_view runs(const Op& op) const;
  /// Null: none.
  const SizedKernel* sized_kernel(const Op& op) const;
  bool works_channels_last(const Op& op) const;
  /// Does it compute some operators of smaller floats in float32 (OpLowering::widens)?
  bool widens() const;
  /// What lowers the group's operators.
  std::vector<const OpLowering*> lowerings_of(const Group& group) const;
};

const Device& cpu_device();

}  // namespace tenon
