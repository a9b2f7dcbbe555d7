// Products and convolutions as the text of GPU kernels (product.gpu.h), with any tile program behind them.
#pragma once
#include <optional>

#include "kernels/conv_shape.h"
#include "kernels/gpu/loop_form.h"
#include "kernels/gpu/product_codes.h"
#include "kernels/gpu/tensor_map.h"

namespace tenon::gpu {

/// Of a batch of products: how many there are, and how far apart their operands lie.
struct ProductBatch {
  std::int64_t size = 1, left = 0, right = 0;
};

/// [rows, depth] x [depth, columns], batch by batch. Row i of product j is row j * rows + i of the epilogue's
/// result; of a convolution, whose products are its groups, column i is column j * columns + i.
struct Product {
  DType left_type = DType::f32, right_type = DType::f32;
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::int64_t left_row = 0, left_column = 0, right_row = 0,
               right_column = 0;                   // strides; left: not of windows
  std::int64_t left_offset = 0, right_offset = 0;  // elements from an aligned address to the first one
  std::vector<ProductBatch> batch;                 // the last moves fastest

  /// The left side is the input of a convolution, a row of which is a window. Strides of the input: of images
  /// and channels, and of d, h and w.
  struct Windows {
    ConvShape shape;
    std::int64_t image = 0, channel = 0;
    std::int64_t spatial[3] = {};
  };
  std::vector<Windows> windows;  // one or none

  /// A transposed convolution whose windows lie side by side: row i is pixel i of its input, column j the
  /// channel j % channels of the tap j / channels. Channels are a multiple of a piece (tile_form); d, h and
  /// w.
  struct Taps {
    std::int64_t channels = 0;
    std::int64_t in[3] = {}, kernel[3] = {};
  };
  std::vector<Taps> taps;  // one or none

  /// The left side is computed from other values, element by element: what the program's store is given
  /// (value_source). left_row and left_column, or the windows' strides, count its rows and columns, and
  /// there is no batch.
  std::vector<LoopProgram> prologue;  // one or none

  /// The right side is kept in codes for numbers of right_type. It has no strides, and is that of all
  /// batches.
  std::vector<ProductCodes> codes;  // one or none

  /// The numbers of a side of bytes (of_bytes) are these minus zero points, i32 in a buffer of their own: how
  /// far apart they lie for its lines (0: one for all). Windows have none.
  std::optional<std::int64_t> left_zeros, right_zeros;

  /// Of a sum of whole numbers no more than its last 32 bits are read.
  bool reads_32_bits = false;

  /// float32 may be multiplied as TF32 (a sign, 8 bits of exponent, 10 behind the point) where a unit does
  /// that.
  bool tf32 = false;

  /// Two sides of float8 may be multiplied as they are, where a unit does that.
  bool float8 = false;
};

/// What products are computed in: f16 and bf16 are multiplied as they are, float8 (but that of of_float8) as
/// f16 or as the other side's type, and summed in f32; f32, f64, and i64 for all integers. Nothing for
/// complex numbers.
std::optional<DType> product_type(DType left, DType right);

/// Both sides are i8 or u8, and their sums have 32 bits.
bool of_bytes(const Product&);
/// Both sides are float8 of forms that one unit multiplies, and are multiplied so.
bool of_float8(const Product&);

/// The kernel takes the left side (the prologue's buffers in order, where there is one) and the right side,
/// the zero points of the left one and of the right one, where there are any, where blocks share tiles memory
/// for their parts and tickets, the epilogue's buffers in order, a pointer to a Fault where it may report
/// one, the struct, the epilogue's arguments (loop_arguments with tile_form), the prologue's (with
/// prologue_form), and its tensor maps in order. Its source depends on no size but through the few choices
/// that are made by it.
struct ProductKernel {
  std::string source, name, tiling;  // Tiling::text
  std::vector<std::byte> arguments;  // the struct
  std::int64_t grid[3] = {1, 1, 1};
  int block = 0;
  std::int64_t shared_bytes = 0;  // dynamic
  std::vector<TensorMap> maps;    // of the two sides, where bulk copies read them
  /// Where blocks share tiles: how many numbers their parts are, and of which dtype; how many tickets there
  /// are, 32 bits each, which are 0 before a run and after it.
  std::int64_t parts = 0, tickets = 0;
  DType part_type = DType::f32;
  bool may_fault = false;  // the prologue or the epilogue reports what is wrong in the data
};
ProductKernel product_kernel(const Product&, const LoopProgram& epilogue, const GpuLimits&);

inline constexpr LoopForm prologue_form{.wide = true};

struct Tiling;
/// With tiles that were chosen otherwise.
ProductKernel product_kernel(const Product&, const LoopProgram& epilogue, const Tiling&);

}  // namespace tenon::gpu
