// What happens to a result while it is still in registers or in the L1 cache.
#pragma once

namespace tenon::cpu {

enum class Activation { none, relu };

/// Transforms rows x cols values in place: element (r, c) of the result is
/// tile[(r - row0) * tile_stride + (c - col0)]. Rows are consecutive rows of the result (for images: pixels,
/// counted over batch, height and width).
using TileHook = void (*)(const void* context, float* tile, long tile_stride, long row0, long rows, long col0,
                          long cols);

/// result = hook(activation(sum + bias[col] + residual[row, col])). relu keeps NaN, as PyTorch's does.
/// The hook is called once for every element, from several threads at the same time.
struct Epilogue {
  const float* bias = nullptr;      // one a column, or null
  const float* residual = nullptr;  // laid out like the result, or null; may be the result's own memory
  long residual_stride = 0;         // floats between its rows
  Activation activation = Activation::none;
  TileHook hook = nullptr;
  const void* context = nullptr;
  /// Of each row of the result, that of the residual; null: the same. Only gemm (gemm.h) looks at it.
  const long* residual_rows = nullptr;
};

}  // namespace tenon::cpu
