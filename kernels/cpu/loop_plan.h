// A loop program compiled to steps over tiles. Internal to the loop kernels.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/cpu/byte_function.h"
#include "kernels/cpu/loop_ops.h"
#include "kernels/cpu/loop_patch.h"
#include "kernels/cpu/loop_space.h"

namespace tenon::cpu {

/// Where the values of a register lie while a tile is worked on.
struct ValueLocation {
  enum class Where {
    none,
    scratch,    // offset: bytes into the worker's scratch; dense
    whole_row,  // the same, but holding all blocks of the reduced row
    constant,   // offset: bytes into LoopPlan::constants
    memory,     // offset: index of an operand, read or written in place
    tile,       // the tile that the anchor handed in
  };
  Where where = Where::none;
  long offset = 0;
  long size = 0;       // bytes of one value
  bool has_p = false;  // one value per tile row?
  bool has_q = false;  // one value per tile column?
};

/// What one step does, on all values of its shape: rows x cols (has_p and has_q), a row, a column or a single
/// value.
struct TileStep {
  enum class Kind { op, load, gather, iota, init, fold, finish, join, store };
  Kind kind = Kind::op;
  bool has_p = false;
  bool has_q = false;
  ValueLocation out;
  ValueLocation in[most_operands];
  int in_count = 0;
  int access = -1;  // load, gather, store: operand; iota: instruction
  OpFn op = nullptr;
  TransferFn transfer = nullptr;  // null: values lie as elements do
  PatchFn patch = nullptr;        // load, store: of elements that are moved before, or after, the transfer
  long word = 1;                  // so many of which are moved as one
  ValueLocation other;            // load, store of pairs: the values of the second elements
  ValueLocation packed;           // where these lie in between
  ReduceOps reduce;
};
using TileSteps = std::vector<TileStep>;

/// How the index of a gather addresses an operand.
struct Gathered {
  long stride = 0;  // elements
  long range = 0;
  bool from_end = false;
  bool converts = false;  // values lie otherwise than elements
};

/// One walk over the reduced row: `block` runs for every block of it, then `after` once.
struct LoopWalk {
  TileSteps block;
  TileSteps after;
  bool crosses_stretches = false;  // nothing that it reads ends where the last dim of the row does
};

struct LoopPlan {
  LoopSpace space;
  std::vector<int> operand_buffers;
  std::vector<long> operand_sizes;  // bytes of one element
  std::vector<Gathered> gathered;   // as the operands
  std::vector<std::byte> constants;
  TileSteps before;  // once per item
  // map: values of one per row or per column of a tile, computed where these are others than an item before.
  TileSteps of_rows, of_columns;
  TileSteps of_blocks;        // those per column that are the same in all blocks of columns
  std::vector<Access> words;  // as the operands: those of words
  std::vector<LoopWalk> walks;
  std::size_t scratch_bytes = 0;  // of one worker
  long item_cost = 1;             // in element operations, to share out the work
};

/// Compiles a verified program for the space.
LoopPlan make_plan(const LoopProgram& program, LoopSpace space);

/// How many times the usual elements a block may have: more where its registers hold less than four floats a
/// column, or where there are none.
long block_times(const LoopProgram& program, const LoopSpace& space);

/// Single float operations, or the fused loops that stand for several instructions: what is left of a program
/// after its chains were recognised. The indices are those of the instructions.
struct LoopNode {
  Instruction instruction;
  int fused = -1;         // a Fused, which replaces instruction.prim
  bool squares = false;   // a reduction that sums the squares of its argument, or of the difference of two
  bool products = false;  // a reduction that sums the products of its two arguments
  int arg_count = 0;
  std::array<Reg, 2> more = {-1, -1};  // the arguments that an instruction has no place for
  DType held = DType::f32;             // the type in which its values are held (held_type.h)
  DType operands = DType::f32;         // the one that its operands are read in; not select's condition
  std::optional<ByteValues> table;     // what it gives for its argument, a byte; in place of all the above

  Reg arg(int i) const {
    const auto at = static_cast<std::size_t>(i);
    return i < 3 ? instruction.args[at] : more[at - 3];
  }
  bool reads(Reg r) const {
    for (int i = 0; i < arg_count; ++i)
      if (arg(i) == r) return true;
    return false;
  }
};
std::vector<LoopNode> recognise_chains(const LoopProgram& program, LoopMode mode);
/// Sets `held` and `operands`: of integers the narrowest types that give the same results. Casts that change
/// no held value have no users afterwards.
void choose_held_types(const LoopProgram& program, std::vector<LoopNode>& nodes);

/// Products become part of the sums that read them alone, where both are held in one type: of integers plus a
/// number, and of f64 and integers along rows. Held types are chosen already.
void join_products(const LoopProgram& program, LoopMode mode, std::vector<LoopNode>& nodes);

/// What is known of an instruction before any step exists.
struct LoopValue {
  bool has_p = false;     // varies over the rows of a tile
  bool has_q = false;     // varies over the columns of a tile
  bool in_block = false;  // varies over the reduced row: computed block by block
  int walk = 0;           // how many reductions come before it
  bool needed = false;    // does a store depend on it?
  bool repeats = false;   // map: the same in all blocks of columns?
};
/// Makes tables of what is stored as bytes and depends on one byte of memory alone, where what lies between
/// them is held in more than a byte. Held types are chosen already.
void use_tables(const LoopProgram& program, std::vector<LoopNode>& nodes);
std::vector<LoopValue> describe_values(const std::vector<LoopNode>& nodes, const LoopSpace& space);
/// Such a bool may be any byte but 0 where it is true: it is read where it lies.
bool only_primitives_read(const std::vector<LoopNode>& nodes, Reg r);
/// An operator that works on elements of f16 or bf16 where they lie.
struct OperatorInMemory {
  Reg reg, store;
  DType dtype;
  OpFn loop;
};
/// The only one of a program that works on blocks, where all blocks that it reads and writes lie dense in one
/// such type; its other operands are one float a row, or a constant. Rows that it reads may also be reduced.
/// Or a cast of dense blocks of f64.
std::optional<OperatorInMemory> operator_in_memory(const LoopProgram& program,
                                                   const std::vector<LoopNode>& nodes,
                                                   const std::vector<LoopValue>& values,
                                                   const LoopSpace& space);
/// The fold of a reduction of f16 or bf16 where they lie in memory, as f32: of rows, or of columns; null
/// where there is none.
FoldFn fold_in_memory(const LoopNode& node, DType dtype, LoopMode mode);
/// The number of the last walk over the row that is needed, counted from 0.
int last_walk(const std::vector<LoopNode>& nodes, const std::vector<LoopValue>& values);

}  // namespace tenon::cpu
