// Transposing copies: cuts the matrices into blocks and calls the block kernel of the ISA.
#include "kernels/cpu/transpose.h"

#include <algorithm>

#include "kernels/cpu/isa.h"

namespace tenon::cpu {

using TransposeBlock = void(long rows, long cols, const float* source, long source_stride, float* target,
                            long target_stride);
TENON_PER_ISA(TransposeBlock, transpose_block, transpose_block)
using TransposeBlock64 = void(long rows, long cols, const std::uint64_t* source, long source_stride,
                              std::uint64_t* target, long target_stride);
TENON_PER_ISA(TransposeBlock64, transpose_block_u64, transpose_block_u64)

void transpose_copy(const TransposeCopy& t, ThreadPool& pool) {
  constexpr long block = 64;
  const long row_blocks = (t.rows + block - 1) / block;
  const long col_blocks = (t.cols + block - 1) / block;
  const long per_matrix = row_blocks * col_blocks;
  // A few blocks a chunk, so that claiming it costs nothing beside the copy.
  constexpr long blocks_per_chunk = 8;
  const long blocks = t.batch * per_matrix;
  pool.parallel_for((blocks + blocks_per_chunk - 1) / blocks_per_chunk, [&](long chunk, int) {
    const long end = std::min(blocks, (chunk + 1) * blocks_per_chunk);
    for (long i = chunk * blocks_per_chunk; i < end; i++) {
      const long b = i / per_matrix;
      const long r = i % per_matrix / col_blocks * block;
      const long c = i % col_blocks * block;
      transpose_block(std::min(block, t.rows - r), std::min(block, t.cols - c),
                      t.source + b * t.source_batch_stride + r * t.source_stride + c, t.source_stride,
                      t.target + b * t.target_batch_stride + c * t.target_stride + r, t.target_stride);
    }
  });
}

void transpose_on_this_thread(long rows, long cols, const float* source, long source_stride, float* target,
                              long target_stride) noexcept {
  transpose_block(rows, cols, source, source_stride, target, target_stride);
}
void transpose_on_this_thread(long rows, long cols, const double* source, long source_stride, double* target,
                              long target_stride) noexcept {
  transpose_block_u64(rows, cols, reinterpret_cast<const std::uint64_t*>(source), source_stride,
                      reinterpret_cast<std::uint64_t*>(target), target_stride);
}

void nchw_to_nhwc(long N, long C, long HW, const float* nchw, float* nhwc, long pixel_stride,
                  ThreadPool& pool) {
  transpose_copy({.batch = N,
                  .rows = C,
                  .cols = HW,
                  .source = nchw,
                  .source_batch_stride = C * HW,
                  .source_stride = HW,
                  .target = nhwc,
                  .target_batch_stride = HW * pixel_stride,
                  .target_stride = pixel_stride},
                 pool);
}

void nhwc_to_nchw(long N, long C, long HW, const float* nhwc, long pixel_stride, float* nchw,
                  ThreadPool& pool) {
  transpose_copy({.batch = N,
                  .rows = HW,
                  .cols = C,
                  .source = nhwc,
                  .source_batch_stride = HW * pixel_stride,
                  .source_stride = pixel_stride,
                  .target = nchw,
                  .target_batch_stride = C * HW,
                  .target_stride = HW},
                 pool);
}

}  // namespace tenon::cpu
