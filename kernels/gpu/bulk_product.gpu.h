// Products on the units of warpgroups whose sides one thread brings to the ring, by bulk copies. Barriers in
// shared memory tie both together: of each stage one that is full, and one that is free.
//
// Compiled for: sm_90a
#pragma once
#include "kernels/gpu/bulk_copies.gpu.h"
#include "kernels/gpu/wgmma_product.gpu.h"

namespace tenon::gpu {

/// A side that bulk copies read.
struct MappedSide {
  const TensorMap* map;
};

/// Begins to copy a piece of a side; boxes are 64 lines of a tile, or all of them where its depth lies side
/// by side.
template <class T, int Lines, bool DepthFast>
GPU_INLINE void copy_piece(const MappedSide& side, int line, int depth,
                           const SwizzledTile<T, Lines, DepthFast>& tile, CopyBarrier* barrier) {
  using Piece = SwizzledTile<T, Lines, DepthFast>;
  if constexpr (DepthFast) {
    bulk_copy(tile.data, side.map, depth, line, barrier);
  } else {
#pragma unroll
    for (int i = 0; i < Lines; i += Piece::row)
      bulk_copy(tile.data + i / Piece::row * Piece::block_bytes, side.map, line + i, depth, barrier);
  }
}

/// WarpgroupProduct of sides that bulk copies bring.
template <class Tile, bool LeftFast, bool RightFast>
struct BulkProduct : WarpgroupRing<Tile, LeftFast, RightFast> {
  using Ring = WarpgroupRing<Tile, LeftFast, RightFast>;
  using Ring::stages;

  /// Adds to a tile, whose first line of each side is given, the sum over depths [begin, end), of which the
  /// first is one of a piece.
  static GPU_INLINE void multiply(const MappedSide& left, const MappedSide& right, Int row, Int column,
                                  int begin, int end, Sums<Tile>& sum) {
    GPU_SHARED(CopyBarrier, full, [stages]);
    GPU_SHARED(CopyBarrier, free, [stages]);
    const bool copies = threadIdx.x == 0;
    const auto fill = [&](int stage, int k) {
      arrive_and_expect(full + stage, Ring::stage_bytes);
      copy_piece(left, int(row), k, Ring::left_tile(stage), full + stage);
      copy_piece(right, int(column), k, Ring::right_tile(stage), full + stage);
    };
    if (copies) {
      for (int i = 0; i < stages; ++i) {
        make_barrier(full + i, 1);
        make_barrier(free + i, Tile::waves);
      }
    }
    fence_for_units();  // of what the threads stored in the ring, too
    __syncthreads();
    if (copies) {
#pragma unroll 1
      for (int i = 0; i < stages; ++i)
        if (begin + i * Tile::depth < end) fill(i, begin + i * Tile::depth);
    }
    wave_barrier();

    int stage = 0, stage_before = 0;
    unsigned phase = 0, phase_before = 0;
    keep_sums_apart(sum[0]);
    for (int k = begin; k < end; k += Tile::depth) {
      wait_for_phase(full + stage, phase);
      Ring::multiply_piece(stage, sum[0]);
      wait_for_products<1>();
      if (k > begin) {  // the piece before was read
        if (int(threadIdx.x) % wave_size == 0) arrive(free + stage_before);
        const int after = k + (stages - 1) * Tile::depth;
        if (copies && after < end) {
          wait_for_phase(free + stage_before, phase_before);
          fill(stage_before, after);
        }
        wave_barrier();
      }
      stage_before = stage;
      phase_before = phase;
      stage = Ring::next(stage);
      phase ^= stage == 0;
    }
    wait_for_products<0>();
    keep_sums_apart(sum[0]);
    __syncthreads();
    if (copies) {
      for (int i = 0; i < stages; ++i) {
        end_barrier(full + i);
        end_barrier(free + i);
      }
    }
  }
};

}  // namespace tenon::gpu
