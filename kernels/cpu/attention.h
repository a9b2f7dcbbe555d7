// Scaled dot product attention on strided heads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/attention_shape.h"
#include "kernels/schedule.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// Attention of these operands.
struct Attention : AttentionShape {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  float* out = nullptr;
  HeadStrides q_strides, k_strides, v_strides, out_strides;
  // At most one of the masks; strides of 0 broadcast. bool_mask: bytes, not zero where a key takes part.
  const float* float_mask = nullptr;
  const std::uint8_t* bool_mask = nullptr;
  HeadStrides mask_strides;
  long mask_key_stride = 0;
  const float* sink = nullptr;  // of each head; null: none
  /// q, k and v hold numbers of bfloat16, and the weights of v may be rounded to it: products by the CPU's
  /// instruction for its pairs, as runs_dot_of_bf16 (row_gemm.h) says that there is one.
  bool of_bf16 = false;
  Schedule schedule = {};
};

/// What of Attention::schedule counts.
inline constexpr Knobs attention_knobs{.block = true};

/// Bytes of 64-byte aligned scratch for a pool of this many threads.
std::size_t attention_scratch_bytes(const Attention& attention, int threads);

/// Computes all heads; allocates nothing. The bits do not depend on the number of threads.
void attention(const Attention& attention, void* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
