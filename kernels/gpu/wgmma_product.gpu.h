// Products on the units of warpgroups: four waves multiply 64 rows by all columns of a tile, straight from
// shared memory. A ring of pieces of the sides lies there; while the units multiply one, the next ones are on
// their way.
//
// Compiled for: sm_90a
#pragma once
#include "kernels/gpu/product.gpu.h"
#include "kernels/gpu/wgmma_instructions.gpu.h"

namespace tenon::gpu {

/// The swizzle goes by addresses: patterns begin at multiples of their size.
constexpr int pattern_bytes = 1024, ring_alignment = pattern_bytes;

/// A side of 128 bytes deep, as the units read it: rows of 128 bytes, of which eight are a pattern. In row r
/// of a pattern, chunk c of 16 bytes lies at chunk c ^ r. A row is a line (DepthFast), or as many lines at
/// one depth as a line has depths.
template <class T, int Lines, bool DepthFast>
struct SwizzledTile {
  using Element = T;
  static constexpr bool depth_fast = DepthFast;
  static constexpr int row_bytes = 128, row = row_bytes / int(sizeof(T)), rows_of_pattern = 8;
  static constexpr int block_bytes = row * row_bytes;  // of the lines of a row
  static constexpr int bytes = Lines * row_bytes;
  char* data;

  GPU_INLINE T* at(int line, int depth) const {
    const unsigned down = unsigned(DepthFast ? line : depth);
    const unsigned along = (DepthFast ? unsigned(depth) : unsigned(line) % row) * unsigned(sizeof(T));
    const int swizzled = int(along ^ down % rows_of_pattern * 16);
    return reinterpret_cast<T*>(data + (DepthFast ? 0 : line / row * block_bytes) + int(down) * row_bytes +
                                swizzled);
  }
  /// An element as a register holds it.
  template <int Count, int Registers>
  GPU_INLINE void read(unsigned (&to)[Registers], int first, int line, int depth) const {
    static_assert(Count == 1 && sizeof(T) == sizeof(unsigned));
    to[first] = bits_as<unsigned>(*at(line, depth));
  }
  /// From a line on that is a multiple of 64, and a depth that is a multiple of 16.
  GPU_INLINE unsigned long long descriptor(int line, int depth) const {
    const char* const begin =
        data + line / row * block_bytes + depth * (DepthFast ? int(sizeof(T)) : row_bytes);
    return matrix_descriptor(begin, DepthFast ? 16 : block_bytes, pattern_bytes);
  }
};

/// How a block computes Rows x Columns elements of the result: a warpgroup for 64 rows. Stages: pieces in the
/// ring, which takes DynamicBytes.
template <class T, int Rows, int Columns, int Stages, int DynamicBytes>
struct WarpgroupTile {
  using Unit = typename UnitOf<T>::type;  // whose layouts a wave's part has
  using Value = float;
  static constexpr int rows = Rows, columns = Columns, threads = Rows / 64 * warpgroup_size;
  static constexpr int stages = Stages, dynamic_bytes = DynamicBytes;
  static constexpr int depth = 128 / int(sizeof(T));
  /// Of float32, the bytes that pieces of the right side take once more, in two parts (split_product.gpu.h).
  static constexpr int split_pieces = 3,
                       split_bytes = Unit::takes_apart ? split_pieces * 2 * Columns * 128 : 0;
  static constexpr int waves = threads / wave_size, down = 1, width = Columns, across = width / Unit::n;
  static constexpr int slab_stride = width + 4;
  static constexpr int slab_bytes = Unit::m * slab_stride * int(sizeof(Value));

  static GPU_INLINE int wave() { return int(threadIdx.x) / wave_size; }
  static GPU_INLINE int first_row() { return wave() * Unit::m; }
  static GPU_INLINE int first_column() { return 0; }
};

template <bool LeftAcross, bool RightAcross, int Units>
GPU_INLINE void wgmma(float (&sum)[Units][4], unsigned long long left, unsigned long long right, half) {
  wgmma_f16<LeftAcross, RightAcross>(sum, left, right);
}
template <bool LeftAcross, bool RightAcross, int Units>
GPU_INLINE void wgmma(float (&sum)[Units][4], unsigned long long left, unsigned long long right, bfloat16) {
  wgmma_bf16<LeftAcross, RightAcross>(sum, left, right);
}

/// Pieces of both sides of a tile in shared memory, and what warpgroups do with them.
template <class Tile, bool LeftFast, bool RightFast>
struct WarpgroupRing {
  using Element = typename Tile::Unit::Element;
  using LeftTile = SwizzledTile<Element, Tile::rows, LeftFast>;
  using RightTile = SwizzledTile<Element, Tile::columns, RightFast>;

  static constexpr int stages = Tile::stages, stage_bytes = LeftTile::bytes + RightTile::bytes;
  static_assert(stages >= 3 &&
                stages * stage_bytes + Tile::split_bytes + ring_alignment == Tile::dynamic_bytes);
  static_assert(Tile::waves * Tile::slab_bytes <= stages * stage_bytes);

  static GPU_INLINE char* ring() {
    GPU_DYNAMIC_SHARED(char, memory);
    const auto address = reinterpret_cast<unsigned long>(memory);
    return memory + (ring_alignment - address % ring_alignment) % ring_alignment;
  }
  static GPU_INLINE LeftTile left_tile(int stage) { return {ring() + stage * stage_bytes}; }
  static GPU_INLINE RightTile right_tile(int stage) {
    return {ring() + stage * stage_bytes + LeftTile::bytes};
  }
  static GPU_INLINE int next(int stage) { return stage + 1 < stages ? stage + 1 : 0; }

  /// Begins to add the product of a piece.
  static GPU_INLINE void multiply_piece(int stage, float (&sum)[Tile::across][4]) {
    const LeftTile left = left_tile(stage);
    const RightTile right = right_tile(stage);
    const int first_row = int(threadIdx.x) / warpgroup_size * 64;
    fence_sums();
#pragma unroll
    for (int k = 0; k < Tile::depth; k += Tile::Unit::k)
      wgmma<!LeftFast, !RightFast>(sum, left.descriptor(first_row, k), right.descriptor(0, k), Element());
    commit_products();
  }

  /// TileProduct's.
  template <int Count, class Left, class Right, class Store>
  static GPU_INLINE void finish(const Left& left, const Right& right, Int row, Int column, Int rows,
                                Int columns, int depth, const Sums<Tile>& sum, Store store) {
    for_each_piece<Count, Tile, Tile::Unit::takes_apart>(
        sum, ring(),
        [&](int i, int j, float value) {
          if constexpr (Tile::Unit::takes_apart)
            return element<float>(left, right, row + i, column + j, 0, depth);
          else
            return value;
        },
        [&](const Pieces<float, Count>& pieces) { store(pieces_in(pieces, row, column, rows, columns)); });
  }
};

/// TileProduct, on the units of warpgroups. The sides come in chunks of 16 bytes.
template <class Tile, class Left, bool LeftFast, int LeftCount, class Right, bool RightFast, int RightCount>
struct WarpgroupProduct : WarpgroupRing<Tile, LeftFast, RightFast> {
  using Ring = WarpgroupRing<Tile, LeftFast, RightFast>;
  using Ring::stages;
  using Lefts =
      Loader<Left, typename Ring::LeftTile, Tile::rows, Tile::depth, LeftCount, Tile::threads, false>;
  using Rights =
      Loader<Right, typename Ring::RightTile, Tile::columns, Tile::depth, RightCount, Tile::threads, false>;
  static_assert(Lefts::is_async && Rights::is_async);

  /// Adds to a tile, whose first line of each side is given, the sum over depths [begin, end).
  static GPU_INLINE void multiply(const Left& left, const Right& right, Int row, Int column, int begin,
                                  int end, Sums<Tile>& sum) {
    Lefts lefts(left, row);
    Rights rights(right, column);
    int filled = 0;  // the stage that is read to next
    const auto read = [&](int k) {
      if (k < end) {
        lefts.begin(k, Ring::left_tile(filled));
        rights.begin(k, Ring::right_tile(filled));
      }
      commit_copies();
      filled = Ring::next(filled);
    };
    // Of the ring, one piece is multiplied, and the units may still read the one before.
    constexpr int ahead = stages - 2;
#pragma unroll
    for (int i = 0; i < ahead; ++i) read(begin + i * Tile::depth);
    int stage = 0;
    keep_sums_apart(sum[0]);
    for (int k = begin; k < end; k += Tile::depth) {
      wait_for_copies<ahead - 1>();
      fence_for_units();
      __syncthreads();
      Ring::multiply_piece(stage, sum[0]);
      read(k + ahead * Tile::depth);
      wait_for_products<1>();
      stage = Ring::next(stage);
    }
    wait_for_products<0>();
    keep_sums_apart(sum[0]);
    wait_for_copies<0>();
    __syncthreads();
  }
};

}  // namespace tenon::gpu
