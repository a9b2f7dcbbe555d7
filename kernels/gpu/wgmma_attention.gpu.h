// Attention whose products are those of warpgroups: queries and weights go to the unit from registers, keys
// and values from shared memory.
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

/// What a block computes with: a warpgroup for 64 queries, 64 keys at a time; rows of 64 elements.
template <class T, int Queries>
struct WarpgroupAttention : AttentionTile<HalfUnit<T>, Queries, 1, 64, 64, 64> {
  using Products = WarpgroupProducts<WarpgroupAttention>;
  using QueryTile = SwizzledTile<T, Queries, true>;
  using KeyTile = SwizzledTile<T, 64, true>;
  using ValueTile = SwizzledTile<T, 64, false>;

  // Queries stay in registers, and leave their memory to values.
  static constexpr int value_begin = KeyTile::bytes, query_begin = value_begin;
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
  using Element = typename Tile::Element;
  static constexpr int steps = Tile::size / Unit::k;

 public:
  GPU_INLINE explicit WarpgroupProducts(const typename Tile::QueryTile& queries) {
    Tile::wait();
#pragma unroll
    for (int step = 0; step < steps; ++step) kept_[step].read(queries, Tile::first_row(), step * Unit::k);
  }
  GPU_INLINE void multiply(const typename Tile::KeyTile& keys, Scores<Tile>& scores) const {
    begin(scores[0]);
#pragma unroll
    for (int step = 0; step < steps; ++step)
      wgmma<false>(scores[0], kept_[step].of, keys.descriptor(0, step * Unit::k), Element());
    finish(scores[0]);
  }
  GPU_INLINE void add(const Scores<Tile>& weights, const typename Tile::ValueTile& values,
                      const typename Tile::WeightTile&, Attended<Tile>& sum) const {
    typename Unit::Left left[steps];
#pragma unroll
    for (int step = 0; step < steps; ++step) left[step] = Unit::left_of(&weights[0][step * 2]);
    begin(sum[0]);
#pragma unroll
    for (int step = 0; step < steps; ++step)
      wgmma<true>(sum[0], left[step].of, values.descriptor(0, step * Unit::k), Element());
    finish(sum[0]);
  }

 private:
  template <int Units>
  static GPU_INLINE void begin(float (&sum)[Units][4]) {
    keep_sums_apart(sum);
    fence_sums();
  }
  template <int Units>
  static GPU_INLINE void finish(float (&sum)[Units][4]) {
    commit_products();
    wait_for_products<0>();
    keep_sums_apart(sum);
  }

  typename Unit::Left kept_[steps];
};

}  // namespace tenon::gpu
