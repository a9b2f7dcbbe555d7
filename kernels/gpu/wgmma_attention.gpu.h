// Attention whose products are those of warpgroups: weights go to the unit from registers, all else from
// shared memory. (Queries in registers, which live for long, were overwritten by NVRTC 13.0.)
//
// Compiled for: sm_90a
#pragma once
#include "kernels/gpu/attention.gpu.h"
#include "kernels/gpu/wgmma_product.gpu.h"

namespace tenon::gpu {

template <bool RightAcross, int Units>
GPU_INLINE void wgmma(float (&sum)[Units][4], const unsigned (&left)[4], unsigned long long right, half) {
  wgmma_f16<RightAcross>(sum, left, right);
}
template <bool RightAcross, int Units>
GPU_INLINE void wgmma(float (&sum)[Units][4], const unsigned (&left)[4], unsigned long long right, bfloat16) {
  wgmma_bf16<RightAcross>(sum, left, right);
}

template <class Tile>
class WarpgroupProducts;

/// What a block, one warpgroup, computes with: 64 queries, 64 keys at a time; rows of 64 elements.
template <class T>
struct WarpgroupAttention : AttentionTile<HalfUnit<T>, 64, 1, 64, 64, 64> {
  using Products = WarpgroupProducts<WarpgroupAttention>;
  using QueryTile = SwizzledTile<T, 64, true>;
  using KeyTile = SwizzledTile<T, 64, true>;
  using ValueTile = SwizzledTile<T, 64, false>;
  static constexpr int rows_together = 64;

  static constexpr int value_begin = KeyTile::bytes, query_begin = value_begin + ValueTile::bytes;
  static constexpr int bytes = query_begin + QueryTile::bytes + pattern_bytes;

  static GPU_INLINE char* memory() {
    GPU_SHARED(uint4, memory, [bytes / 16]);
    char* const begin = reinterpret_cast<char*>(memory);
    return begin + (pattern_bytes - reinterpret_cast<unsigned long>(begin) % pattern_bytes) % pattern_bytes;
  }
  static GPU_INLINE void wait() {
    wait_for_copies<0>();
    fence_for_units();
    __syncthreads();
  }
};

template <class Tile>
class WarpgroupProducts {
  using Unit = typename Tile::Unit;
  static constexpr int steps = 64 / Unit::k;

 public:
  GPU_INLINE explicit WarpgroupProducts(const typename Tile::QueryTile& queries) : queries_(queries) {}

  GPU_INLINE void multiply(const typename Tile::KeyTile& keys, Scores<Tile>& scores) const {
    set_to_zero(scores);
    const Steps left(queries_), right(keys);
    keep_sums_apart(scores[0]);
    fence_sums();
#pragma unroll
    for (int step = 0; step < steps; ++step)
      wgmma<false, false>(scores[0], left.at(step), right.at(step), typename Tile::Element());
    finish(scores[0]);
  }
  GPU_INLINE void add(const Scores<Tile>& weights, const typename Tile::ValueTile& values,
                      const typename Tile::WeightTile&, Attended<Tile>& sum) const {
    typename Unit::Left left[steps];
#pragma unroll
    for (int step = 0; step < steps; ++step) left[step] = Unit::left_of(&weights[0][step * 2]);
    const Steps right(values);
    keep_apart(left);
    keep_sums_apart(sum[0]);
    fence_sums();
#pragma unroll
    for (int step = 0; step < steps; ++step)
      wgmma<true>(sum[0], left[step].of, right.at(step), typename Tile::Element());
    finish(sum[0]);
    keep_apart(left);
  }

 private:
  /// The descriptors of a tile's steps: all are as far apart.
  struct Steps {
    unsigned long long first, apart;
    template <class SideTile>
    GPU_INLINE explicit Steps(const SideTile& tile)
        : first(tile.descriptor(0, 0)), apart(tile.descriptor(0, Unit::k) - first) {}
    GPU_INLINE unsigned long long at(int step) const { return first + step * apart; }
  };
  static GPU_INLINE void finish(float (&sum)[8][4]) {
    commit_products();
    wait_for_products<0>();
    keep_sums_apart(sum);
  }
  static GPU_INLINE void keep_apart(typename Unit::Left (&left)[steps]) {
#pragma unroll
    for (int step = 0; step < steps; ++step) keep_left_apart(left[step].of);
  }

  typename Tile::QueryTile queries_;
};

}  // namespace tenon::gpu
