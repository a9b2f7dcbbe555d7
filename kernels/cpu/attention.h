// Scaled dot product attention on strided heads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// Where a [batch, heads, rows, size] tensor lies; the elements of a row are contiguous. Strides count
/// elements.
struct HeadStrides {
  long batch = 0;
  long head = 0;
  long row = 0;
};

/// out[b,h,i] = sum_j softmax_j(scale * <q[b,h,i], k[b,g,j]> + mask[b,h,i,j]) * v[b,g,j], g = h * kv_heads /
/// heads.
///
/// The result for a row is exact softmax over all its keys. A row all of whose keys are masked (by false,
/// -inf or causality) is zero, as in PyTorch's operator, unless nan_rows is set. Causal means that query i
/// sees keys 0..i.
struct Attention {
  long batch = 1;
  long heads = 1;
  long kv_heads = 1;  // divides heads
  long queries = 0;
  long keys = 0;
  long size = 0;        // of a row of q and k
  long value_size = 0;  // of a row of v and out
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  float* out = nullptr;
  HeadStrides q_strides, k_strides, v_strides, out_strides;
  float scale = 1.0f;
  bool causal = false;
  bool nan_rows = false;  // a row all of whose keys are masked is NaN
  // At most one of the masks; strides of 0 broadcast. bool_mask: bytes, not zero where a key takes part.
  const float* float_mask = nullptr;
  const std::uint8_t* bool_mask = nullptr;
  HeadStrides mask_strides;
  long mask_key_stride = 0;
};

/// Bytes of 64-byte aligned scratch for a pool of this many threads.
std::size_t attention_scratch_bytes(const Attention& attention, int threads);

/// Computes all heads; allocates nothing. The bits do not depend on the number of threads.
void attention(const Attention& attention, void* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
