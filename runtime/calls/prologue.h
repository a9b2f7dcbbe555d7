// What a fused group does before its anchor, whatever the device.
#pragma once
#include <optional>

#include "kernels/loop_program.h"
#include "runtime/planner.h"

namespace tenon {

/// The pointwise members of a group that compute its anchor's first operand, and nothing else.
class Prologue {
 public:
  /// nullopt: the anchor takes that operand from outside, or others read what it is computed from.
  static std::optional<Prologue> match(const Group&);

  const std::vector<const Node*>& members() const { return members_.members(); }
  /// The group without them: its anchor's first operand is a value that the graph's body does not have.
  const Group& rest() const { return rest_; }
  std::size_t operands() const { return members_.operands().size(); }
  /// Added to the work of the rest: what it reads in place of the operand, and its arithmetic.
  Work work() const;

  /// As one program over [rows, columns] of the operand in this order. `buffers` gets what it reads, copied
  /// where that is no such matrix. The store writes the element that was computed to the buffer -1.
  LoopProgram program(Planner&, const Order&, std::vector<PlannedTensor>& buffers) const;

 private:
  Prologue(Group members, Group rest, const Value* result);

  Group members_, rest_;
  const Value* result_;
};

/// A device whose kernels compute prologues (Device::computes_prologues) gets linears, products and
/// convolutions in one group with the pointwise operators that compute their first operand, where that is
/// estimated to be faster: it saves to write and read the operand, and computes it for each tile of columns
/// (and tap of a window) anew.
void take_prologues(Graph& graph, const Device& device);

/// The group as two nodes, one for its prologue: the first of them. Null: it has none.
Node* split_prologue(Node& node);

}  // namespace tenon
