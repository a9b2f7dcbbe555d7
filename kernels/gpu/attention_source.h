// Attention as the text of a GPU kernel (attention.gpu.h).
#pragma once
#include <optional>

#include "kernels/attention_shape.h"
#include "kernels/gpu/loop_form.h"

namespace tenon::gpu {

/// What one kernel computes. q, k, v and the result are of one type, f32, f16 or bf16; offsets count elements
/// from an aligned address.
struct AttentionProgram {
  AttentionShape shape;
  DType dtype = DType::f32;
  HeadStrides q, k, v, out;
  std::int64_t q_offset = 0, k_offset = 0, v_offset = 0, out_offset = 0;
  bool chains = true;         // on the device's matrix unit sums become left sides in registers
  std::optional<DType> mask;  // bool: keeps where true; a float is added
  HeadStrides mask_strides;
  std::int64_t mask_key = 0;
  bool has_sink = false;
};

/// Are a head's rows so short that a block's part of them fits its memory?
bool fits_attention(const AttentionShape&, DType);

/// The matrix units that its products may be computed on.
MatrixUnits attention_units(const AttentionShape&, DType);

struct AttentionKernel {
  std::string source;  // of a kernel "attention"
  std::string tiling;  // "64x32", "128x64 wgmma": queries and keys; "of rows"; "of rows in 4 parts"
  std::vector<std::byte> arguments;
  std::int64_t grid = 0;
  int block = 0;
  /// Where blocks divide keys: the floats that they write in place of the result, from which "join" makes it,
  /// a block of join_threads for each query of a head.
  std::int64_t part_floats = 0, join_grid = 0;
  static constexpr int join_threads = 128;
};

/// The kernel takes: q, k, v, the mask and the sink if there are such, the result (or its parts), and the
/// struct of arguments; "join" takes parts, the sink if there is one, the result and the struct. The source
/// depends on the sizes of rows, not on how many there are.
AttentionKernel attention_kernel(const AttentionProgram&, const GpuLimits&);

}  // namespace tenon::gpu
