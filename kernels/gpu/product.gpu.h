// Products of matrices, and convolutions as products: a block computes a tile of the result, each of its
// waves a part of that with its matrix unit, from two sides that lie in shared memory; while it multiplies,
// the next piece of them is on its way.
#pragma once
#include "kernels/gpu/loop_walks.gpu.h"
#include "kernels/gpu/matrix_units.gpu.h"
#include "kernels/gpu/product_sides.gpu.h"

namespace tenon::gpu {

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

/// How a block computes Rows x Columns elements of the result, from elements T.
template <class T, int Rows, int Columns, int Threads>
struct BlockTile {
  using Unit = typename UnitOf<T>::type;
  using Value = typename Unit::Value;
  static constexpr int rows = Rows, columns = Columns, threads = Threads;
  static constexpr int depth = 64 / int(sizeof(T));  // of a piece of the sides
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

template <class Tile, class LeftTile, class RightTile>
GPU_INLINE void multiply_piece(const LeftTile& left, const RightTile& right, Sums<Tile>& sum) {
  using Unit = typename Tile::Unit;
#pragma unroll 4
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
  }
}

template <class Tile, class LeftTile, class RightTile>
GPU_INLINE void add_piece(const LeftTile& left, const RightTile& right, Sums<Tile>& sum) {
  if constexpr (Tile::Unit::in_parts) {
    Sums<Tile> part = {};
    multiply_piece<Tile>(left, right, part);
#pragma unroll
    for (int i = 0; i < Tile::down; ++i)
#pragma unroll
      for (int j = 0; j < Tile::across; ++j)
#pragma unroll
        for (int v = 0; v < Tile::Unit::values; ++v) sum[i][j][v] += part[i][j][v];
  } else {
    multiply_piece<Tile>(left, right, sum);
  }
}

/// Calls use(row of the tile, column, value) for each element: neighbours of a wave for neighbours of a row.
/// The values go there through shared memory, which no thread reads any more. Mends: a value that is not
/// finite becomes mend(row, column, value) before.
template <class Tile, bool Mends, class Mend, class Use>
GPU_INLINE void for_each_value(const Sums<Tile>& sum, void* memory, Mend mend, Use use) {
  using Unit = typename Tile::Unit;
  using Value = typename Tile::Value;
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
      for (int e = int(threadIdx.x) % wave_size; e < Unit::m * Tile::width; e += wave_size) {
        const int row = e / Tile::width, column = e % Tile::width;
        Value& value = slab[row * Tile::slab_stride + column];
        if (!isfinite(value)) value = mend(first_row + row, first_column + column, value);
      }
    }
#pragma unroll 4
    for (int e = int(threadIdx.x) % wave_size; e < Unit::m * Tile::width; e += wave_size) {
      const int row = e / Tile::width, column = e % Tile::width;
      use(first_row + row, first_column + column, slab[row * Tile::slab_stride + column]);
    }
    wave_barrier();
  }
}

/// One element of the product, on the ordinary units.
template <class Value, class Left, class Right>
GPU_INLINE Value element(const Left& left, const Right& right, Int row, Int column, int begin, int end) {
  const auto line = left.line(row);
  const auto other = right.line(column);
  Value sum = 0;
  for (int k = begin; k < end; ++k) {
    const auto* const a = left.at(line, left.depth(k));
    const auto* const b = right.at(other, right.depth(k));
    sum += (a ? convert<Value>(*a) : Value(0)) * (b ? convert<Value>(*b) : Value(0));
  }
  return sum;
}

/// Calls store(row, column, value) for each element of the tile at (row, column) of a result [rows, columns]:
/// the sum over depths [begin, end). The sides are read as Loader has it. A product that is not finite is
/// computed once more where the unit takes numbers apart: infinities have no parts.
template <class Tile, bool LeftFast, int LeftCount, bool RightFast, int RightCount, class Left, class Right,
          class Store>
GPU_INLINE void multiply_tile(const Left& left, const Right& right, Int row, Int column, Int rows,
                              Int columns, int begin, int end, Store store) {
  using Element = typename Tile::Unit::Element;
  using LeftTile = SharedTile<Element, Tile::rows, Tile::depth, LeftFast>;
  using RightTile = SharedTile<Element, Tile::columns, Tile::depth, RightFast>;
  constexpr int stage_bytes = LeftTile::bytes + RightTile::bytes;
  constexpr int slabs_bytes = Tile::waves * Tile::slab_bytes;
  constexpr int bytes = 2 * stage_bytes > slabs_bytes ? 2 * stage_bytes : slabs_bytes;
  GPU_SHARED(uint4, memory, [(bytes + 15) / 16]);
  const auto left_tile = [&](int stage) {
    return LeftTile{reinterpret_cast<Element*>(reinterpret_cast<char*>(memory) + stage * stage_bytes)};
  };
  const auto right_tile = [&](int stage) {
    return RightTile{
        reinterpret_cast<Element*>(reinterpret_cast<char*>(memory) + stage * stage_bytes + LeftTile::bytes)};
  };

  Loader<Left, LeftTile, Tile::rows, Tile::depth, LeftCount, Tile::threads, true> lefts(left, row);
  Loader<Right, RightTile, Tile::columns, Tile::depth, RightCount, Tile::threads, true> rights(right, column);
  Sums<Tile> sum = {};
  lefts.begin(begin, left_tile(0));
  rights.begin(begin, right_tile(0));
  commit_copies();
  int stage = 0;
  for (int k = begin; k < end; k += Tile::depth) {
    lefts.finish(left_tile(stage));
    rights.finish(right_tile(stage));
    wait_for_copies<0>();
    __syncthreads();
    if (k + Tile::depth < end) {
      lefts.begin(k + Tile::depth, left_tile(1 - stage));
      rights.begin(k + Tile::depth, right_tile(1 - stage));
    }
    commit_copies();
    add_piece<Tile>(left_tile(stage), right_tile(stage), sum);
    stage = 1 - stage;
  }
  wait_for_copies<0>();
  __syncthreads();
  for_each_value<Tile, Tile::Unit::in_parts>(
      sum, memory,
      [&](int i, int j, typename Tile::Value) {
        return element<typename Tile::Value>(left, right, row + i, column + j, begin, end);
      },
      [&](int i, int j, typename Tile::Value value) {
        if (row + i < rows && column + j < columns) store(row + i, column + j, value);
      });
}

}  // namespace tenon::gpu
