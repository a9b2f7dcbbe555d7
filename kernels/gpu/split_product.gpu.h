// Products of float32 on the units of warpgroups, with all of its accuracy: x = high + low, numbers of TF32,
// and of the four products low x low is left out. While the units multiply a piece, the threads split the
// next one: of the right side, which the units read along its depth, the parts lie in shared memory beside
// the ring; those of the left side go to registers.
//
// Compiled for: sm_90a
#pragma once
#include "kernels/gpu/bulk_product.gpu.h"

namespace tenon::gpu {

/// high is the nearest number of TF32, but for ties; the unit cuts low to one. Of what is not finite low is
/// not, either, nor is the product, which is computed once more.
GPU_INLINE void split(float x, float& high, float& low) {
  high = bits_as<float>((bits_as<unsigned>(x) + 0x1000u) & 0xffffe000u);
  low = x - high;
}

template <class Tile, bool LeftFast, bool RightFast>
struct SplitRing : WarpgroupRing<Tile, LeftFast, RightFast> {
  using Ring = WarpgroupRing<Tile, LeftFast, RightFast>;
  using Ring::stages;
  static constexpr int steps = Tile::depth / Tile::Unit::k;

  using Part = SwizzledTile<float, Tile::columns, true>;
  static GPU_INLINE Part high_part(int piece) {
    return {Ring::ring() + stages * Ring::stage_bytes + piece * 2 * Part::bytes};
  }
  static GPU_INLINE Part low_part(int piece) { return {high_part(piece).data + Part::bytes}; }

  static GPU_INLINE void write_parts(int piece, int line, int depth, const float (&x)[4]) {
    float high[4], low[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) split(x[i], high[i], low[i]);
    write_for_units(high_part(piece).at(line, depth), high);
    write_for_units(low_part(piece).at(line, depth), low);
  }
  /// Neighbours take depths of a line that lie side by side, or such lines.
  static GPU_INLINE void split_right(int stage, int piece) {
    constexpr int chunks = Tile::depth / 4, across = RightFast ? chunks : Tile::columns;
    constexpr int step = Tile::threads / across, reads = Tile::columns * chunks / Tile::threads;
    static_assert(Tile::threads % across == 0 && Tile::columns * chunks % Tile::threads == 0);
    const auto from = Ring::right_tile(stage);
    const int along = int(threadIdx.x) % across, down = int(threadIdx.x) / across;
    constexpr int unrolled = RightFast ? reads : 1;  // registers are few
#pragma unroll unrolled
    for (int i = 0; i < reads; ++i) {
      float x[4];
      if constexpr (RightFast) {
        read_pieces(from.at(down + i * step, along * 4), x);
        write_parts(piece, down + i * step, along * 4, x);
      } else {
        const int depth = (down + i * step) * 4;
#pragma unroll
        for (int k = 0; k < 4; ++k) x[k] = *from.at(along, depth + k);
        write_parts(piece, along, depth, x);
      }
    }
  }

  /// What a lane has of a piece of the left side.
  using LeftPiece = float[steps][4];
  struct LeftParts {
    unsigned high[steps][4], low[steps][4];
  };
  static GPU_INLINE void read_left(int stage, LeftPiece& left) {
#pragma unroll
    for (int step = 0; step < steps; ++step)
      Tile::Unit::read_floats_of(Ring::left_tile(stage), Tile::first_row(), step * Tile::Unit::k, left[step]);
  }
  /// No product is under way: while one is, nothing is written to registers that products read.
  static GPU_INLINE void split_left(LeftPiece& left, LeftParts& parts) {
    keep_sums_apart(left);
#pragma unroll
    for (int step = 0; step < steps; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float high, low;
        split(left[step][i], high, low);
        parts.high[step][i] = bits_as<unsigned>(high);
        parts.low[step][i] = bits_as<unsigned>(low);
      }
  }

  /// Begins to multiply a piece. Small products come first, such that few sums are cut that are large.
  static GPU_INLINE void multiply_parts(const LeftParts& left, int piece, float (&sum)[Tile::across][4]) {
    const Part high = high_part(piece), low = low_part(piece);
    constexpr int k = Tile::Unit::k;
    keep_sums_apart(sum);
    fence_sums();
    wgmma_tf32<false>(sum, left.low[0], high.descriptor(0, 0));
#pragma unroll
    for (int step = 1; step < steps; ++step)
      wgmma_tf32<true>(sum, left.low[step], high.descriptor(0, step * k));
#pragma unroll
    for (int step = 0; step < steps; ++step)
      wgmma_tf32<true>(sum, left.high[step], low.descriptor(0, step * k));
#pragma unroll
    for (int step = 0; step < steps; ++step)
      wgmma_tf32<true>(sum, left.high[step], high.descriptor(0, step * k));
    commit_products();
  }

  /// Adds the sum over depths [begin, end). `feed` fills the stages of the ring in their order. Sums of a
  /// piece leave the unit, which cuts them, and are added by ordinary additions.
  template <class Feed>
  static GPU_INLINE void multiply_pieces(Feed& feed, int begin, int end, Sums<Tile>& sum) {
    LeftPiece left;
    LeftParts parts;
    float part[Tile::across][4] = {};
    // One barrier for a piece: it was split, its stage may be filled. Warpgroups that have not waited for
    // their products may still read the piece before it, while others split the one behind it.
    const auto meet = [&] {
      fence_for_units();
      feed.wait_for_copies_of_thread();
      __syncthreads();
    };
    feed.start(begin);
    int stage = 0, piece = 0;
    feed.wait_for_piece();
    split_right(stage, piece);
    read_left(stage, left);
    meet();
    for (int k = begin; k < end; k += Tile::depth) {
      split_left(left, parts);
      multiply_parts(parts, piece, part);
      feed.fill(k + stages * Tile::depth);
      stage = Ring::next(stage);
      piece = piece + 1 < Tile::split_pieces ? piece + 1 : 0;
      if (k + Tile::depth < end) {
        feed.wait_for_piece();
        split_right(stage, piece);
        read_left(stage, left);
      }
      meet();
      wait_for_products<0>();
      keep_sums_apart(part);
#pragma unroll
      for (int j = 0; j < Tile::across; ++j)
#pragma unroll
        for (int v = 0; v < 4; ++v) sum[0][j][v] += part[j][v];
    }
    feed.finish();
  }
};

/// WarpgroupProduct of float32.
template <class Tile, class Left, bool LeftFast, int LeftCount, class Right, bool RightFast, int RightCount>
struct SplitProduct : SplitRing<Tile, LeftFast, RightFast> {
  using Ring = SplitRing<Tile, LeftFast, RightFast>;
  using Ring::stages;
  using Lefts =
      Loader<Left, typename Ring::LeftTile, Tile::rows, Tile::depth, LeftCount, Tile::threads, false>;
  using Rights =
      Loader<Right, typename Ring::RightTile, Tile::columns, Tile::depth, RightCount, Tile::threads, false>;
  static_assert(Lefts::is_async && Rights::is_async);

  struct Feed {
    Lefts lefts;
    Rights rights;
    int end, filled = 0;

    GPU_INLINE void fill(int k) {
      if (k < end) {
        lefts.begin(k, Ring::left_tile(filled));
        rights.begin(k, Ring::right_tile(filled));
      }
      commit_copies();
      filled = Ring::next(filled);
    }
    GPU_INLINE void start(int begin) {
#pragma unroll 1
      for (int i = 0; i < stages; ++i) fill(begin + i * Tile::depth);
      wait_for_copies<stages - 1>();
      __syncthreads();
    }
    GPU_INLINE void wait_for_piece() {}
    /// Of the piece that is split behind the next barrier.
    GPU_INLINE void wait_for_copies_of_thread() { wait_for_copies<stages - 2>(); }
    GPU_INLINE void finish() {
      wait_for_copies<0>();
      __syncthreads();
    }
  };

  static GPU_INLINE void multiply(const Left& left, const Right& right, Int row, Int column, int begin,
                                  int end, Sums<Tile>& sum) {
    Feed feed{Lefts(left, row), Rights(right, column), end};
    Ring::multiply_pieces(feed, begin, end, sum);
  }
};

/// A side that bulk copies read, and threads where a value is computed once more.
template <class Side>
struct Mapped : Side {
  const TensorMap* map;
};

/// BulkProduct of float32.
template <class Tile, bool LeftFast, bool RightFast>
struct SplitBulkProduct : SplitRing<Tile, LeftFast, RightFast> {
  using Ring = SplitRing<Tile, LeftFast, RightFast>;
  using Ring::stages;

  struct Feed {
    MappedSide left, right;
    int row, column, end, filled = 0, stage = 0;
    unsigned phase = 0;

    static GPU_INLINE CopyBarrier* full() {
      GPU_SHARED(CopyBarrier, full, [stages]);
      return full;
    }
    GPU_INLINE void fill(int k) {
      if (threadIdx.x == 0 && k < end) {
        arrive_and_expect(full() + filled, Ring::stage_bytes);
        copy_piece(left, row, k, Ring::left_tile(filled), full() + filled);
        copy_piece(right, column, k, Ring::right_tile(filled), full() + filled);
      }
      wave_barrier();
      filled = Ring::next(filled);
    }
    GPU_INLINE void start(int begin) {
      if (threadIdx.x == 0)
        for (int i = 0; i < stages; ++i) make_barrier(full() + i, 1);
      fence_for_units();  // of what the threads stored in the ring, too
      __syncthreads();
#pragma unroll 1
      for (int i = 0; i < stages; ++i) fill(begin + i * Tile::depth);
    }
    GPU_INLINE void wait_for_piece() {
      wait_for_phase(full() + stage, phase);
      stage = Ring::next(stage);
      phase ^= stage == 0;
    }
    GPU_INLINE void wait_for_copies_of_thread() {}
    GPU_INLINE void finish() {
      __syncthreads();
      if (threadIdx.x == 0)
        for (int i = 0; i < stages; ++i) end_barrier(full() + i);
    }
  };

  template <class Left, class Right>
  static GPU_INLINE void multiply(const Left& left, const Right& right, Int row, Int column, int begin,
                                  int end, Sums<Tile>& sum) {
    Feed feed{{left.map}, {right.map}, int(row), int(column), end};
    Ring::multiply_pieces(feed, begin, end, sum);
  }
};

}  // namespace tenon::gpu
