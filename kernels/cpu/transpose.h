// Transposing copies: NCHW <-> NHWC, and any other swap of two dimensions.
#pragma once
#include <cstdint>

#include "kernels/cpu/isa.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// batch matrices of rows x cols floats; strides count floats.
struct TransposeCopy {
  long batch = 1;
  long rows = 0;
  long cols = 0;
  const float* source = nullptr;  // element (b, r, c) at b * source_batch_stride + r * source_stride + c
  long source_batch_stride = 0;
  long source_stride = 0;
  float* target = nullptr;  // element (b, r, c) at b * target_batch_stride + c * target_stride + r
  long target_batch_stride = 0;
  long target_stride = 0;
};

/// target[b][c][r] = source[b][r][c]. Source and target must not overlap.
void transpose_copy(const TransposeCopy& copy, ThreadPool& pool);

/// One matrix, without a pool: target[c * target_stride + r] = source[r * source_stride + c].
void transpose_on_this_thread(long rows, long cols, const float* source, long source_stride, float* target,
                              long target_stride) noexcept;
void transpose_on_this_thread(long rows, long cols, const double* source, long source_stride, double* target,
                              long target_stride) noexcept;

/// Of pairs of rows, the elements side by side: target[i * target_stride + 2 * c + r] is column c of row
/// 2 * i + r.
using InterleaveRows = void(long pairs, long cols, const std::uint16_t* source, long source_stride,
                            std::uint16_t* target, long target_stride);
TENON_PER_ISA(InterleaveRows, interleave_rows_u16, interleave_rows)

/// NCHW (dense) to NHWC with a stride of pixel_stride >= C floats between pixels.
void nchw_to_nhwc(long N, long C, long HW, const float* nchw, float* nhwc, long pixel_stride,
                  ThreadPool& pool);
void nhwc_to_nchw(long N, long C, long HW, const float* nhwc, long pixel_stride, float* nchw,
                  ThreadPool& pool);

}  // namespace tenon::cpu
