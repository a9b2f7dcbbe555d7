// Products of matrices, and convolutions as products: a block computes tiles of the result, each of its waves
// a part of that with its matrix unit, from two sides that lie in shared memory; while it multiplies a piece
// of them, the next ones are on their way.
#pragma once
#include "kernels/gpu/coded_side.gpu.h"
#include "kernels/gpu/loop_walks.gpu.h"
#include "kernels/gpu/matrix_units.gpu.h"
#include "kernels/gpu/stream_k.gpu.h"

namespace tenon::gpu {

/// Bytes of shared memory for the pieces of a block's tile: what kernels may have without asking, but a few.
constexpr int tile_memory = (48 << 10) - 64;

/// The number of waves along the rows that makes their parts most like squares.
__device__ constexpr int waves_along_rows(int rows, int columns, int waves, int m, int n) {
  int best = 0, best_sum = 0;
  for (int along = 1; along <= waves; along *= 2) {
    const int height = rows / along, width = columns / (waves / along);
    if (height < m || height % m != 0 || width < n || width % n != 0) continue;
    if (best == 0 || height + width < best_sum) {
      best = along;
      best_sum = height + width;
    }
  }
  return best;
}

/// How a block computes Rows x Columns elements of the result on a unit.
template <class UnitOfTile, int Rows, int Columns, int Threads>
struct BlockTile {
  using Unit = UnitOfTile;
  using Value = typename Unit::Value;
  static constexpr int rows = Rows, columns = Columns, threads = Threads;
  static constexpr int depth = 64 / int(sizeof(typename Unit::Element));  // of a piece of the sides
  static constexpr int waves = Threads / wave_size;
  static constexpr int waves_down = waves_along_rows(Rows, Columns, waves, Unit::m, Unit::n);
  static_assert(waves_down > 0, "the tile cannot be shared by the waves");
  static constexpr int height = Rows / waves_down,
                       width = Columns / (waves / waves_down);             // of a wave's part
  static constexpr int down = height / Unit::m, across = width / Unit::n;  // units in that
  static constexpr int slab_stride = width + 4;
  static constexpr int slab_bytes = Unit::m * slab_stride * int(sizeof(Value));

  static GPU_INLINE int wave() { return int(threadIdx.x) / wave_size; }
  static GPU_INLINE int first_row() { return wave() % waves_down * height; }
  static GPU_INLINE int first_column() { return wave() / waves_down * width; }
};

template <class Tile>
using Sums = typename Tile::Value[Tile::down][Tile::across][Tile::Unit::values];

/// The sums of rows and of columns of the sides, where a value of a tile lies: products with sides of ones.
template <class Tile, bool OfRows, bool OfColumns>
struct LineSums {
  using Unit = typename Tile::Unit;
  using Values = typename Tile::Value[Unit::values];
  Values rows[OfRows ? Tile::down : 1] = {}, columns[OfColumns ? Tile::across : 1] = {};

  GPU_INLINE void add(const typename Unit::Left (&a)[Tile::down],
                      const typename Unit::Right (&b)[Tile::across]) {
    if constexpr (OfRows) {
      typename Unit::Right ones;
      ones.set_to_one();
#pragma unroll
      for (int i = 0; i < Tile::down; ++i) Unit::multiply(rows[i], a[i], ones);
    }
    if constexpr (OfColumns) {
      typename Unit::Left ones;
      ones.set_to_one();
#pragma unroll
      for (int j = 0; j < Tile::across; ++j) Unit::multiply(columns[j], ones, b[j]);
    }
  }
};

template <class Tile, class LeftTile, class RightTile, class Lines>
GPU_INLINE void multiply_piece(const LeftTile& left, const RightTile& right, Sums<Tile>& sum, Lines& lines) {
  using Unit = typename Tile::Unit;
  // Among steps of ordinary units clang looks for dot products of bytes, over four for minutes.
  constexpr int unrolled = Unit::k == 1 && sizeof(typename Unit::Element) == 1 ? 1 : 4;
#pragma unroll unrolled
  for (int k = 0; k < Tile::depth; k += Unit::k) {
    typename Unit::Left a[Tile::down];
    typename Unit::Right b[Tile::across];
#pragma unroll
    for (int i = 0; i < Tile::down; ++i) a[i].read(left, Tile::first_row() + i * Unit::m, k);
#pragma unroll
    for (int j = 0; j < Tile::across; ++j) b[j].read(right, Tile::first_column() + j * Unit::n, k);
#pragma unroll
    for (int i = 0; i < Tile::down; ++i)
#pragma unroll
      for (int j = 0; j < Tile::across; ++j) Unit::multiply(sum[i][j], a[i], b[j]);
    lines.add(a, b);
  }
}

template <class Tile, class LeftTile, class RightTile, class Lines>
GPU_INLINE void add_piece(const LeftTile& left, const RightTile& right, Sums<Tile>& sum, Lines& lines) {
  if constexpr (Tile::Unit::in_parts) {
    Sums<Tile> part = {};
    multiply_piece<Tile>(left, right, part, lines);
#pragma unroll
    for (int i = 0; i < Tile::down; ++i)
#pragma unroll
      for (int j = 0; j < Tile::across; ++j)
#pragma unroll
        for (int v = 0; v < Tile::Unit::values; ++v) sum[i][j][v] += part[i][j][v];
  } else {
    multiply_piece<Tile>(left, right, sum, lines);
  }
}

/// Calls use(pieces) for all elements, at their rows and columns of the tile: neighbours of a wave have
/// neighbours of a row. The values go there through shared memory, which no thread reads any more. Mends: a
/// value that is not finite becomes mend(row, column, value) before. Count: pieces at once.
template <int Count, class Tile, bool Mends, class Mend, class Use>
GPU_INLINE void for_each_piece(const Sums<Tile>& sum, void* memory, Mend mend, Use use) {
  using Unit = typename Tile::Unit;
  using Value = typename Tile::Value;
  constexpr int elements = Unit::m * Tile::width, vector = Pieces<Value, 1>::vector,
                step = vector * wave_size;
  static_assert(Tile::width % vector == 0);
  auto* const slab = reinterpret_cast<Value*>(static_cast<char*>(memory) + Tile::wave() * Tile::slab_bytes);
#pragma unroll
  for (int i = 0; i < Tile::down; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::across; ++j)
#pragma unroll
      for (int v = 0; v < Unit::values; ++v)
        slab[Unit::row(v) * Tile::slab_stride + j * Unit::n + Unit::column(v)] = sum[i][j][v];
    wave_barrier();
    const int first_row = Tile::first_row() + i * Unit::m, first_column = Tile::first_column();
    if constexpr (Mends) {
#pragma unroll 1
      for (int e = int(threadIdx.x) % wave_size; e < elements; e += wave_size) {
        const int row = e / Tile::width, column = e % Tile::width;
        Value& value = slab[row * Tile::slab_stride + column];
        if (!isfinite(value)) value = mend(first_row + row, first_column + column, value);
      }
      wave_barrier();
    }
#pragma unroll 1
    for (int base = 0; base < elements; base += Count * step) {
      Pieces<Value, Count> pieces;
#pragma unroll
      for (int c = 0; c < Count; ++c) {
        const int e = base + c * step + int(threadIdx.x) % wave_size * vector;
        const bool exists = elements % (Count * step) == 0 || e < elements;
        const int row = exists ? e / Tile::width : 0, column = exists ? e % Tile::width : 0;
        pieces.row[c] = first_row + row;
        pieces.column[c] = first_column + column;
        pieces.valid[c] = exists ? vector : 0;
        read_pieces(slab + row * Tile::slab_stride + column, pieces.value[c]);
      }
      use(pieces);
    }
    wave_barrier();
  }
}

/// Pieces of a tile whose first row and column are given, as those of a result [rows, columns].
template <class Value, int Count>
GPU_INLINE Pieces<Value, Count> pieces_in(const Pieces<Value, Count>& of_tile, Int row, Int column, Int rows,
                                          Int columns) {
  auto pieces = of_tile.moved(row, column);
#pragma unroll
  for (int c = 0; c < Count; ++c) {
    const Int left = pieces.row[c] < rows ? columns - pieces.column[c] : 0;
    if (left < pieces.valid[c]) pieces.valid[c] = int(left);
  }
  return pieces;
}

/// One element of the product, on the ordinary units.
template <class Value, class Left, class Right>
GPU_INLINE Value element(const Left& left, const Right& right, Int row, Int column, int begin, int end) {
  const auto line = left.line(row);
  const auto other = right.line(column);
  Value sum = 0;
  for (int k = begin; k < end; ++k) {
    if constexpr (Left::is_computed) {
      const auto* const b = right.at(other, right.depth(k));
      sum += convert<Value>(left.value(line, left.depth(k))) * (b ? convert<Value>(*b) : Value(0));
    } else {
      const auto* const a = left.at(line, left.depth(k));
      const auto* const b = right.at(other, right.depth(k));
      sum += (a ? convert<Value>(*a) : Value(0)) * (b ? convert<Value>(*b) : Value(0));
    }
  }
  return sum;
}

template <class Value, class Left, class Code, bool HasZeros>
GPU_INLINE Value element(const Left& left, const CodedMatrix<Code, HasZeros>& right, Int row, Int column,
                         int begin, int end) {
  const auto line = left.line(row);
  Value sum = 0;
  for (int k = begin; k < end; ++k) {
    const Value b = convert<Value>(right.number_at(column, k));
    if constexpr (Left::is_computed) {
      sum += convert<Value>(left.value(line, left.depth(k))) * b;
    } else {
      const auto* const a = left.at(line, left.depth(k));
      sum += (a ? convert<Value>(*a) : Value(0)) * b;
    }
  }
  return sum;
}

/// Where a tile lies in a batch of products, and its sides.
template <class LeftSide, class RightSide>
struct TilePlace {
  using Left = LeftSide;
  using Right = RightSide;
  Int batch, row, column;  // the tile's first
  Left left;
  Right right;
};
template <class Left, class Right>
GPU_INLINE TilePlace<Left, Right> place_of_tile(Int batch, Int row, Int column, const Left& left,
                                                const Right& right) {
  return {batch, row, column, left, right};
}

/// How tiles of a product are computed. The sides are read as Loader has it: which axis of a tile lies side
/// by side, and in chunks of how many elements.
template <class Tile, class Left, bool LeftFast, int LeftCount, class Right, bool RightFast, int RightCount>
struct TileProduct {
  using Element = typename Tile::Unit::Element;
  using Value = typename Tile::Value;
  using LeftTile = SharedTile<Element, Tile::rows, Tile::depth, LeftFast>;
  using RightTile = SharedTile<Element, Tile::columns, Tile::depth, RightFast>;
  using Lefts = Loader<Left, LeftTile, Tile::rows, Tile::depth, LeftCount, Tile::threads, true>;
  using Rights = Loader<Right, RightTile, Tile::columns, Tile::depth, RightCount, Tile::threads, true>;

  /// The numbers of a side of bytes may be what the unit multiplies plus an offset: the unit's shift, minus a
  /// zero point.
  using Unit = typename Tile::Unit;
  static constexpr bool left_is_offset = Unit::left_shift != 0 || ZeroPoint<Left>::is_there,
                        right_is_offset = Unit::right_shift != 0 || ZeroPoint<Right>::is_there;
  using Lines = LineSums<Tile, right_is_offset, left_is_offset>;

  static constexpr int stage_bytes = LeftTile::bytes + RightTile::bytes;
  /// Pieces in shared memory, of which one is multiplied while the others are on their way. What goes through
  /// registers has two.
  static GPU_INLINE constexpr int stages_of(int most) { return most > 4 ? 4 : most < 2 ? 2 : most; }
  static constexpr int stages =
      Lefts::is_async && Rights::is_async ? stages_of(tile_memory / stage_bytes) : 2;
  static constexpr int stages_bytes = stages * stage_bytes, slabs_bytes = Tile::waves * Tile::slab_bytes;
  static constexpr int bytes = stages_bytes > slabs_bytes ? stages_bytes : slabs_bytes;

  static GPU_INLINE char* memory() {
    GPU_SHARED(uint4, memory, [(bytes + 15) / 16]);
    return reinterpret_cast<char*>(memory);
  }
  static GPU_INLINE LeftTile left_tile(int stage) {
    return {reinterpret_cast<Element*>(memory() + stage * stage_bytes)};
  }
  static GPU_INLINE RightTile right_tile(int stage) {
    return {reinterpret_cast<Element*>(memory() + stage * stage_bytes + LeftTile::bytes)};
  }
  static GPU_INLINE int next(int stage) { return stage + 1 < stages ? stage + 1 : 0; }

  /// Adds to a tile, whose first line of each side is given, the sum over depths [begin, end).
  static GPU_INLINE void multiply(const Left& left, const Right& right, Int row, Int column, int begin,
                                  int end, Sums<Tile>& sum) {
    Lefts lefts(left, row);
    Rights rights(right, column);
    int filled = 0;  // the stage that is read to next
    const auto read = [&](int k) {
      if (k < end) {
        lefts.begin(k, left_tile(filled));
        rights.begin(k, right_tile(filled));
      }
      commit_copies();
      filled = next(filled);
    };
#pragma unroll
    for (int ahead = 0; ahead < stages - 1; ++ahead) read(begin + ahead * Tile::depth);
    int stage = 0;
    Lines lines;
    for (int k = begin; k < end; k += Tile::depth) {
      lefts.finish(left_tile(stage));
      rights.finish(right_tile(stage));
      wait_for_copies<stages - 2>();
      __syncthreads();
      read(k + (stages - 1) * Tile::depth);
      add_piece<Tile>(left_tile(stage), right_tile(stage), sum, lines);
      stage = next(stage);
    }
    if constexpr (left_is_offset || right_is_offset)
      add_offsets(left, right, row, column, unsigned(end - begin), lines, sum);
    wait_for_copies<0>();
    __syncthreads();
  }

  /// What the unit multiplied, plus offsets: (l + a) (r + b) = l r + a r + b l + a b at each depth. Beyond
  /// the `depth` the sides hold bytes of 0, of which no zero point is subtracted.
  static GPU_INLINE void add_offsets(const Left& left, const Right& right, Int row, Int column,
                                     unsigned depth, const Lines& lines, Sums<Tile>& sum) {
    const unsigned filled = (depth + Tile::depth - 1) / Tile::depth * Tile::depth;
#pragma unroll
    for (int i = 0; i < Tile::down; ++i)
#pragma unroll
      for (int j = 0; j < Tile::across; ++j)
#pragma unroll
        for (int v = 0; v < Unit::values; ++v) {
          const unsigned left_zero =
                             ZeroPoint<Left>::of(left, row + Tile::first_row() + i * Unit::m + Unit::row(v)),
                         right_zero = ZeroPoint<Right>::of(
                             right, column + Tile::first_column() + j * Unit::n + Unit::column(v));
          const unsigned a = Unit::left_shift - left_zero, b = Unit::right_shift - right_zero;
          sum[i][j][v] += filled * a * b - (filled - depth) * left_zero * right_zero;
          if constexpr (left_is_offset) sum[i][j][v] += a * lines.columns[j][v];
          if constexpr (right_is_offset) sum[i][j][v] += b * lines.rows[i][v];
        }
  }

  /// Calls store(pieces) for all elements of a tile of a result [rows, columns]. A product that is not finite
  /// is computed once more where the unit takes numbers apart: infinities have no parts.
  template <int Count, class Store>
  static GPU_INLINE void finish(const Left& left, const Right& right, Int row, Int column, Int rows,
                                Int columns, int depth, const Sums<Tile>& sum, Store store) {
    for_each_piece<Count, Tile, Tile::Unit::takes_apart>(
        sum, memory(),
        [&](int i, int j, Value) { return element<Value>(left, right, row + i, column + j, 0, depth); },
        [&](const Pieces<Value, Count>& pieces) { store(pieces_in(pieces, row, column, rows, columns)); });
  }
};

}  // namespace tenon::gpu
