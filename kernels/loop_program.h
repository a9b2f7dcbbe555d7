// The register program a fused region is lowered to: loads, scalar operations, row reductions and stores over
// an iteration space. Plain data in two halves: code, which is compiled once for all sizes, and shape, which
// is arguments to it. The CPU executes both in blocks (cpu/loop_kernel.h); a GPU back end prints the code as
// source.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/reduce.h"
#include "base/scalar.h"

namespace tenon {

/// How an instruction addresses memory: element (i0, i1, ...) of the loop is at
/// buffer[offset + i0 * strides[0] + i1 * strides[1] + ...]. Strides count elements; 0 broadcasts, negative
/// is fine. A gather adds index * index_stride; its indices lie in [0, range), or in [-range, range) where
/// negative ones count from the end. Other indices are faults, unless the gather has a value for them.
struct LoopOperand {
  int buffer = 0;  // index into the buffers given when the program runs
  DType dtype = DType::f32;
  std::vector<std::int64_t> strides;  // one per dim of the loop
  std::int64_t offset = 0;
  std::int64_t index_stride = 0;
  std::int64_t range = 0;
  bool from_end = false;

  bool operator==(const LoopOperand&) const = default;
};

/// A register: the index of the instruction that defines it.
using Reg = int;

enum class LoopOp : std::uint8_t {
  load,      // operand
  gather,    // operand, at the index args[0]; the constant args[1] of the operand's dtype, if there is one,
             // where that is out of range
  tile,      // the value an anchor (matmul, convolution) hands in; only in programs run on a tile
  constant,  // value or integer
  count,     // how many points a row has
  iota,      // the index along `dim`
  prim,      // prim(args...)
  reduce,    // reduce(args[0]) over the row; positions count row-major over the reduced dims
  store,     // operand = args[0]; defines no register
};

struct Instruction {
  LoopOp op = LoopOp::constant;
  DType type = DType::f32;  // the register's compute type; for Prim::cast the dtype to go through
  Prim prim = Prim::add;
  Reduce reduce = Reduce::sum;
  std::array<Reg, 3> args = {-1, -1, -1};
  int operand = -1;          // load, gather, store: index into operands
  int dim = -1;              // iota
  double value = 0;          // constant of type f32 or f64
  std::int64_t integer = 0;  // constant of type i64 or bool

  bool operator==(const Instruction&) const = default;
};

/// How many of the arguments are registers.
int arg_count(const Instruction&);
/// True for a gather whose indices may be wrong.
bool may_fault(const Instruction&);

/// What is known of a stride without the sizes. A back end compiles for it: 0 broadcasts, 1 is contiguous.
enum class Stride : std::uint8_t { zero, one, any };
Stride class_of(std::int64_t stride);

/// Straight-line code in SSA form, run once for every point of the space (row-major). It knows no sizes.
///
/// The last `reduced` dims are the row: reduce() folds a register over them, and its result is one value per
/// row. A register that depends on no row dim (constants, loads with zero row strides, reductions, and what
/// is computed from them) is a row value too. Row values meet element values freely: they are broadcast over
/// the row. Registers have the compute types f32, f64, i64 and bool; loads and stores convert between them
/// and the operand's dtype (floats up to 32 bits <-> f32; all integers <-> i64). Integers narrower than 64
/// bits therefore wrap when stored, or where a cast to their dtype stands. u64 is held as the i64 of the same
/// bits.
///
/// A buffer that is stored to may also be loaded from only with the same strides and offset (an in-place
/// update). Nothing is gathered from it.
struct LoopCode {
  struct OperandCode {
    int buffer = 0;
    DType dtype = DType::f32;
    std::vector<Stride> strides;  // one per dim of the loop
    Stride index_stride = Stride::zero;
    bool from_end = false;

    bool operator==(const OperandCode&) const = default;
  };
  int reduced = 0;
  std::vector<OperandCode> operands;
  std::vector<Instruction> instructions;

  bool operator==(const LoopCode&) const = default;
};
/// Equal codes have equal hashes: the key of a cache of compiled loops.
std::size_t hash_of(const LoopCode& code);

/// The sizes that code runs over and where its operands lie: all that may change without compiling again.
struct LoopShape {
  struct OperandShape {
    std::vector<std::int64_t> strides;
    std::int64_t offset = 0;
    std::int64_t index_stride = 0;
    std::int64_t range = 0;

    bool operator==(const OperandShape&) const = default;
  };
  std::vector<std::int64_t> dims;
  std::vector<OperandShape> operands;  // as in the code

  bool operator==(const LoopShape&) const = default;
};

/// Code with the sizes that it runs over.
struct LoopProgram {
  std::string name;
  LoopCode code;
  LoopShape shape;

  LoopProgram() = default;
  LoopProgram(std::string name_, std::vector<std::int64_t> dims, int reduced = 0)
      : name(std::move(name_)), code{.reduced = reduced}, shape{.dims = std::move(dims)} {}

  /// Builders: append an instruction and return its register.
  Reg load(LoopOperand from);
  Reg gather(LoopOperand from, Reg index, Reg outside = -1);
  Reg tile(DType type = DType::f32);  // f32, f64 or i64
  Reg constant(double value, DType type = DType::f32);
  Reg constant_int(std::int64_t value, DType type = DType::i64);
  Reg count(DType type = DType::f32);
  Reg iota(int dim);
  Reg prim(Prim p, Reg a, Reg b = -1, Reg c = -1);
  Reg cast(DType to, Reg a);
  Reg reduce(Reduce kind, Reg a);
  void store(LoopOperand to, Reg value);

  /// The compute type of a register.
  DType type_of(Reg r) const;
  LoopOperand operand(std::size_t index) const;
  /// How many points a row has.
  std::int64_t row_length() const;
  /// 1 + the largest buffer index.
  int buffer_count() const;

  bool operator==(const LoopProgram&) const = default;
};

/// For each instruction: does its register (for a store, its operand or value) vary over the row?
/// All false when nothing is reduced and `reduced` is 0.
std::vector<bool> varies_over_row(const LoopProgram& program);

/// Throws InternalError naming the instruction, if the program is malformed: an argument that is not defined
/// before, types that do not agree, strides of the wrong rank, a store that would write one element twice.
void verify(const LoopProgram& program);

/// The text form, for tests and --print-ir=planned:
///   loop softmax [8 | 128] {
///     %0 = load b0: f32 (128 | 1)
///     %1 = reduce max %0 : f32
///     ...
///     store b1: f32 (128 | 1), %5
///   }
std::string to_string(const LoopProgram& program);

}  // namespace tenon
