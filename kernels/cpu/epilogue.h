// What happens to a result while it is still in registers or in the L1 cache.
#pragma once
#include <cstdint>
#include <limits>

namespace tenon::cpu {

/// A function of one value that kernels apply themselves. NaN stays NaN.
struct Activation {
  enum class Kind {
    none,
    relu,
    clamp,        // min(max(x, low), high)
    hardswish,    // x * hardsigmoid(x)
    hardsigmoid,  // min(max(x + 3, 0), 6) / 6
    leaky_relu,   // x > 0 ? x : low * x
    sigmoid,
    silu,  // x * sigmoid(x)
    tanh,
    gelu,       // x / 2 * (1 + erf(x / sqrt 2))
    gelu_tanh,  // its approximation by tanh
  };
  Kind kind = Kind::none;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  static const Activation none, relu;
  bool operator==(const Activation&) const = default;
};
inline constexpr Activation Activation::none{};
inline constexpr Activation Activation::relu{Kind::relu, 0};

/// Transforms rows x cols values in place: element (r, c) of the result is
/// tile[(r - row0) * tile_stride + (c - col0)]. Rows are consecutive rows of the result (for images: pixels,
/// counted over batch, height and width).
using TileHook = void (*)(const void* context, float* tile, long tile_stride, long row0, long rows, long col0,
                          long cols);

/// The epilogue of results in 16-bit floats, on sums of float32:
/// x = round(x); x = x + residual, perhaps rounded; x = activation(x), perhaps rounded.
struct RoundedRows {
  enum class To { f16, bf16 } to;
  Activation activation = Activation::none;
  bool adds = false;         // a residual
  bool adds_to_sum = false;  // to x as it was summed, not rounded
  bool rounds_sum = false, rounds_result = false;
  bool residual_is_half = false;  // in memory: of type `to`, else float32

  /// The residual so many elements further on.
  const void* further(const void* residual, long elements) const {
    const long size = residual_is_half ? sizeof(std::uint16_t) : sizeof(float);
    return static_cast<const char*>(residual) + elements * size;
  }
};

struct CodesOfSums;

/// result = hook(activation(sum + bias[col] + residual[row, col]) + added[row, col]). The hook is called once
/// for every element, from several threads at the same time.
struct Epilogue {
  const float* bias = nullptr;      // one a column, or null
  const float* residual = nullptr;  // laid out like the result, or null; may be the result's own memory
  long residual_stride = 0;         // floats between its rows
  Activation activation = Activation::none;
  TileHook hook = nullptr;
  const void* context = nullptr;
  bool hook_takes_tiles = false;  // it costs no more on pieces as small as a register tile
  /// What the hook does, where that is to make codes and no more: kernels may do it in its place.
  const CodesOfSums* codes = nullptr;
  /// Of each row of the result, that of the residual; null: the same. Products alone look at it.
  const long* residual_rows = nullptr;
  const float* added = nullptr;  // laid out like the result, or null; not the result's memory
  long added_stride = 0;
  /// What the hook does, where it rounds and no more: products do it themselves. Its residual is laid out
  /// like the result.
  const RoundedRows* rounded = nullptr;
  const void* rounded_residual = nullptr;
  long rounded_residual_stride = 0;  // elements

  /// That of a result that begins at this row and column.
  Epilogue from(long row, long col) const {
    Epilogue e = *this;
    if (bias) e.bias += col;
    if (residual) e.residual += col;
    if (residual_rows)
      e.residual_rows += row;
    else if (residual)
      e.residual += row * residual_stride;
    if (added) e.added += row * added_stride + col;
    if (rounded_residual)
      e.rounded_residual = rounded->further(rounded_residual, row * rounded_residual_stride + col);
    return e;
  }
};

}  // namespace tenon::cpu
