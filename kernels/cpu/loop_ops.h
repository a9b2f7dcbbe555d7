// What the steps of a compiled loop program call: loops over a tile of rows x cols values in L1, one per
// primitive and type. Internal to the loop kernels.
#pragma once
#include <cstddef>

#include "base/scalar.h"
#include "kernels/loop_program.h"

namespace tenon::cpu {

inline constexpr int most_operands = 5;  // of a step

/// One call: out[r][c] = op(in0[r][c], in1[r][c], ...) for r < rows, c < cols. Pitches count elements
/// from row to row (0: the same row each time). A splat input has one value per row, at in[r * pitch]. Bools
/// are bytes: 0, or any other for true; results are 0 or 1. out may be one of the inputs. What a call does
/// not read is not set: to clear all takes as long as some dozen vectors.
struct OpArgs {
  void* out;
  const void* in[most_operands];
  long out_pitch;
  long in_pitch[most_operands];
  bool splat[most_operands];
  long rows;
  long cols;
};
using OpFn = void (*)(const OpArgs&);

/// The loop of p on operands held as `type` (held_type.h; for select, the type of its two values).
OpFn loop_op(Prim p, DType type);
/// The loop of a cast from a type that values are held in, through the dtype `to`, to what that is held in.
OpFn cast_op(DType from, DType to);

/// Folds a tile into accumulators: one per row, or one per column. `index` is the position in the reduced row
/// of the tile's first column (row), for argmin and argmax.
using FoldFn = void (*)(void* accumulators, const OpArgs& tile, long index);

/// How one reduction of one type works: n accumulators of `size` bytes are set to the identity, tiles are
/// folded in, and finished into registers.
struct ReduceOps {
  std::size_t size = 0;
  void (*init)(void* accumulators, long n) = nullptr;
  FoldFn fold_rows = nullptr;
  FoldFn fold_columns = nullptr;
  void (*finish)(void* out, const void* accumulators, long n) = nullptr;
};
/// Of values held as f32, f64, i32, i64 or bool, and the extremes of narrower integers. Sums and products of
/// integers are i64.
ReduceOps reduce_ops(Reduce kind, DType type);
/// The sum of the squares of f32 or f64, or of the squared differences between two (rows only).
ReduceOps reduce_squares_ops(DType type);
ReduceOps reduce_squared_differences_ops(DType type);
/// The sum of the products of two rows, of f64 or of what reduce_wrapped_ops and i64 take.
ReduceOps reduce_products_ops(DType type);
/// The sum of integers of up to 32 bits that wraps around in their type.
ReduceOps reduce_wrapped_ops(DType type);

/// Converts rows x cols elements, whose rows are dense, to values of the type that the dtype is held in, or
/// back. Pitches count elements. `values_pitch` and `splat` as in OpArgs.
struct Transfer {
  std::byte* memory = nullptr;
  long memory_pitch = 0;
  void* values = nullptr;
  long values_pitch = 0;
  bool splat = false;
  long rows = 0;
  long cols = 0;
};
using TransferFn = void (*)(const Transfer&);
/// Null where values lie as elements do.
TransferFn load_op(DType dtype);
TransferFn store_op(DType dtype);

/// Loops over chains of primitives that are worth one pass: of f32; some of f64, too, clamp of any
/// type, and mul_add and selects of integers.
enum class Fused {
  mul_add,       // a * b + c
  mul_sub,       // a * b - c
  sub_mul,       // (a - b) * c
  sub_mul_add,   // (a - b) * c + d
  normalize,     // (a - b) * c * d + e
  mul_mul,       // a * b * c
  div_add,       // a / b + c
  abs_sub,       // |a - b|
  cube,          // a * a * a
  leaky_relu,    // a where a > 0, else a * b
  clamp,         // min(max(a, b), c), of values of any type
  relu,          // max(a, 0)
  add_relu,      // max(a + b, 0)
  mul_add_relu,  // max(a * b + c, 0)
  gelu,          // a / 2 * (1 + erf(a / sqrt 2))
  add_gelu,      // gelu(a + b)
  gelu_tanh,     // gelu, approximated by tanh
  silu,          // a * sigmoid(a)
  silu_mul,      // silu(a) * b
  hardsigmoid,   // min(max(a + 3, 0), 6) / 6
  hardswish,     // a * hardsigmoid(a)
  exp_sub,       // exp(a - b)
  exp_below,     // exp(a - b) where b is the row's maximum of a
  sub_clamp,     // a - min(max(a, b), c)
  clamp_number,  // min(max(a, b), c); d where a is NaN
  huber_lt,      // x * x * d where x < c, else x - e, of x = |a - b|
  huber_le,      // x * x * d where x <= c, else x - e
  huber_min,     // m * (x - m * d) of m = min(x, c)
  select_lt,     // c where a < b, else d; selects are the last ones
  select_le,     // c where a <= b, else d
  select_eq,     // c where a == b, else d
  select_abs,    // c where |a| <= b, else d
};
inline constexpr int fused_count = static_cast<int>(Fused::select_abs) + 1;

/// The loop of a chain on operands held as `type`.
OpFn fused_op(Fused f, DType type);

/// Folds of the rows or the columns of floats, whose accumulators are those of f32: sums are held in double.
struct FloatFolds {
  FoldFn sum = nullptr;
  FoldFn sum_squares = nullptr;
  FoldFn sum_squared_differences = nullptr;  // of in[0] and in[1], which is splat and f32; of rows
  FoldFn max = nullptr;
  FoldFn min = nullptr;
};

/// Of a type that is held as f32: floats rounded to it, and moved from and to memory. Loops whose operands
/// and results are elements of that type, which are widened and rounded on their way; null where there is
/// none.
struct SmallFloatOps {
  OpFn round;
  TransferFn load;
  TransferFn store;
  OpFn prim[prim_count];
  OpFn fused[fused_count];
  FloatFolds fold_rows, fold_columns;
};

/// The loops of floats that are written with vectors; null where there is a plain one only.
struct SimdOps {
  OpFn prim[prim_count];
  OpFn fused[fused_count];
  FloatFolds fold_rows, fold_columns;
  OpFn byte_table;  // of bytes in[0], what each chooses of the 256 bytes in[1]
  SmallFloatOps f16, bf16, f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz;

  /// Null for other types.
  const SmallFloatOps* small_floats(DType t) const {
    switch (t) {
      case DType::f16: return &f16;
      case DType::bf16: return &bf16;
      case DType::f8e4m3fn: return &f8e4m3fn;
      case DType::f8e5m2: return &f8e5m2;
      case DType::f8e4m3fnuz: return &f8e4m3fnuz;
      case DType::f8e5m2fnuz: return &f8e5m2fnuz;
      default: return nullptr;
    }
  }
};
/// The table of the ISA in use.
const SimdOps& simd_ops();

}  // namespace tenon::cpu
