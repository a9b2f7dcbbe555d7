// What a fused group does with its anchor's result, whatever the device.
#pragma once
#include <optional>

#include "kernels/loop_program.h"
#include "runtime/planner.h"

namespace tenon {

/// The group's one member with this operator, if none of its operands is computed in the group; null
/// otherwise.
const Node* find_anchor(const Group& group, const OpInfo& op);

/// All that a group does with its anchor's result, in any dtype, as one program over [rows, columns] of that
/// result, which it takes as a tile.
struct TileProgram {
  LoopProgram program;                 // its last operand is the group's result
  std::vector<const Value*> operands;  // of the program but the last: values of the graph's body

  /// As Epilogue::match, but members may compute what the anchor reads, which is no part of the program.
  static std::optional<TileProgram> match(const Planner&, const Group&, const Node& anchor, const Value* bias,
                                          const Order&);
  /// Bytes of what it reads.
  double bytes() const;
};

/// A value seen as the matrix [rows, columns] of the anchor's result: its strides.
struct MatrixStrides {
  std::int64_t row = 0, column = 0;
};

/// What the kernels of an anchor take beside pointwise operators of float32.
struct EpilogueOptions {
  bool gathers = false;  // the first operator may add rows that indices choose
  bool halves = false;   // the anchor may read a cast of bfloat16, and the result be of bfloat16
  bool bytes = false;    // the anchor may read what is made of bytes, and the result be bytes
};

/// bias, residual, relu, then a loop program for all that follows. Values are those of the graph's body.
struct Epilogue {
  const Value* bias = nullptr;      // of the columns, contiguous
  const Value* residual = nullptr;  // with contiguous columns
  std::int64_t residual_row_stride = 0;
  bool residual_is_whole = false;  // it has the result's rank: the result may lie over it
  /// Indices, one for each row of the result: the residual is what they choose from. Null: it is as it is.
  const Value* residual_rows = nullptr;
  bool residual_rows_from_end = false;  // negative indices count from the end
  bool relu = false;
  /// Over [rows, columns] of the anchor's result, which it takes as a tile. Its last operand is the group's
  /// result.
  std::optional<LoopProgram> program;
  std::vector<const Value*> operands;  // of the program but the last

  /// nullopt when the group is not its anchor followed by pointwise operators that see the anchor's result as
  /// the matrix of this axis order, or has more than one result. `bias` is the anchor's own bias, or null.
  static std::optional<Epilogue> match(const Planner&, const Group&, const Node& anchor, const Value* bias,
                                       const Order&, EpilogueOptions = {});

  /// "+bias+residual+relu", "+gather", "+tile"
  std::string text() const;
  /// Bytes of what it reads.
  double bytes() const;
  /// Memory for the group's result: over the residual where nobody else needs it; else where it is wanted;
  /// else new memory in this order. Only what fits.
  PlannedTensor assign_result(Planner&, const Group&, const Order&,
                              FunctionRef<bool(const PlannedTensor&)> fits) const;
};

}  // namespace tenon
