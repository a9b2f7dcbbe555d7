// What a block of attention computes with: the tile's sizes and memory, and the products of a wave.
#pragma once
#include "kernels/gpu/product.gpu.h"

namespace tenon::gpu {

template <class Tile>
class WaveProducts;

/// What a block computes with: a unit; Queries rows, Down units of them for each wave; Keys columns at a
/// time; rows of q and k and of v, filled up to multiples of 16.
template <class UnitOfTile, int Queries, int Down, int Keys, int Size, int ValueSize>
struct AttentionTile {
  using Unit = UnitOfTile;
  using Element = typename Unit::Element;
  static constexpr int queries = Queries, keys = Keys, size = Size, width = ValueSize, down = Down;
  static constexpr int rows_of_wave = Down * Unit::m, waves = Queries / rows_of_wave;
  static constexpr int threads = waves * wave_size;
  static constexpr int rows_together = rows_of_wave;  // whose products begin and end together
  static constexpr int key_units = Keys / Unit::n, across = ValueSize / Unit::n;
  static constexpr int together = Unit::chains ? 2 : 1;  // right sides that are read at once
  // Sums of a unit that takes numbers apart stay short.
  static constexpr int step = Unit::in_parts ? 16 : Unit::k, pieces = step / Unit::k;
  static_assert(Unit::m == 16 && Keys % 16 == 0 && Size % 16 == 0 && ValueSize % 16 == 0);
  static_assert(waves * rows_of_wave == Queries);

  using QueryTile = SharedTile<Element, Queries, Size, true>;
  using KeyTile = SharedTile<Element, Keys, Size, true>;
  using ValueTile = SharedTile<Element, ValueSize, Keys, false>;
  using WeightTile = SharedTile<Element, rows_of_wave, Keys, true>;  // of a wave

  // Queries that stay in registers leave their memory to values.
  static constexpr bool keeps_queries = Unit::chains && sizeof(Element) == 2 && Down * Size <= 128;
  // Weights go from registers to registers, or through memory.
  static constexpr bool keeps_weights = Unit::chains && !Unit::takes_apart;
  static constexpr int value_begin = KeyTile::bytes;
  static constexpr int query_begin = value_begin + (keeps_queries ? 0 : ValueTile::bytes);
  static constexpr int query_end = query_begin + QueryTile::bytes, value_end = value_begin + ValueTile::bytes;
  static constexpr int weight_begin = query_end > value_end ? query_end : value_end;
  static constexpr int weight_bytes = keeps_weights ? 0 : WeightTile::bytes;

  // A unit of rows of the result on its way to memory, of a wave.
  static constexpr int slab_stride = width + 16 / int(sizeof(Element));
  static constexpr int slab_bytes = Unit::m * slab_stride * int(sizeof(Element));
  static constexpr int all_bytes = weight_begin + waves * weight_bytes;
  static constexpr int bytes = all_bytes > waves* slab_bytes ? all_bytes : waves* slab_bytes;

  using Products = WaveProducts<AttentionTile>;
  static GPU_INLINE char* memory() {
    GPU_SHARED(uint4, memory, [(bytes + 15) / 16]);
    return reinterpret_cast<char*>(memory);
  }
  /// Until what was copied has arrived for the whole block.
  static GPU_INLINE void wait() {
    wait_for_copies<0>();
    __syncthreads();
  }
  static GPU_INLINE int wave() { return int(threadIdx.x) / wave_size; }
  static GPU_INLINE int first_row() { return wave() * rows_of_wave; }
};

template <class Tile>
using Scores = float[Tile::down][Tile::key_units][Tile::Unit::values];
template <class Tile>
using Rights = typename Tile::Unit::Right[Tile::together];
template <class Tile>
using Attended = float[Tile::down][Tile::across][Tile::Unit::values];

/// Adds a step: of left sides, and of right ones that read(columns' unit, piece, to) brings.
template <class Tile, int Units, class Read>
GPU_INLINE void add_step(float (&sum)[Tile::down][Units][Tile::Unit::values],
                         const typename Tile::Unit::Left (&a)[Tile::down][Tile::pieces], Read read) {
  using Unit = typename Tile::Unit;
#pragma unroll
  for (int j = 0; j < Units; j += Tile::together) {
    Rights<Tile> b[Tile::pieces];
#pragma unroll
    for (int p = 0; p < Tile::pieces; ++p) read(j, p, b[p]);
#pragma unroll
    for (int t = 0; t < Tile::together; ++t)
#pragma unroll
      for (int i = 0; i < Tile::down; ++i) {
        if constexpr (Unit::in_parts) {
          float part[Unit::values] = {};
#pragma unroll
          for (int p = 0; p < Tile::pieces; ++p) Unit::multiply(part, a[i][p], b[p][t]);
#pragma unroll
          for (int v = 0; v < Unit::values; ++v) sum[i][j + t][v] += part[v];
        } else {
#pragma unroll
          for (int p = 0; p < Tile::pieces; ++p) Unit::multiply(sum[i][j + t], a[i][p], b[p][t]);
        }
      }
  }
}

template <int Down, int Units, int Values>
GPU_INLINE void set_to_zero(float (&sum)[Down][Units][Values]) {
#pragma unroll
  for (int i = 0; i < Down; ++i)
#pragma unroll
    for (int j = 0; j < Units; ++j)
#pragma unroll
      for (int v = 0; v < Values; ++v) sum[i][j][v] = 0;
}

/// The products of a wave, whose queries may stay in registers.
template <class Tile>
class WaveProducts {
  using Unit = typename Tile::Unit;
  using Left = typename Unit::Left;
  static constexpr int steps = Tile::size / Tile::step;

 public:
  GPU_INLINE explicit WaveProducts(const typename Tile::QueryTile& queries) : queries_(queries) {
    if constexpr (Tile::keeps_queries) {
      Tile::wait();
#pragma unroll
      for (int step = 0; step < steps; ++step) read(step, kept_[step]);
    }
  }

  /// The products of queries and a tile of keys.
  GPU_INLINE void multiply(const typename Tile::KeyTile& keys, Scores<Tile>& scores) const {
    set_to_zero(scores);
    constexpr int unrolled = Tile::keeps_queries ? steps : 2;
#pragma unroll unrolled
    for (int step = 0; step < steps; ++step) {
      const auto read_keys = [&](int j, int p, Rights<Tile>& to) {
        const int depth = step * Tile::step + p * Unit::k;
        if constexpr (Unit::chains)
          Unit::read_two(keys, j * Unit::n, depth, to);
        else
          to[0].read(keys, j * Unit::n, depth);
      };
      if constexpr (Tile::keeps_queries) {
        add_step<Tile>(scores, kept_[step], read_keys);
      } else {
        Left a[Tile::down][Tile::pieces];
        read(step, a);
        add_step<Tile>(scores, a, read_keys);
      }
    }
  }

  /// Adds the products of a tile's weights and values. `memory` is the wave's, for weights on their way.
  GPU_INLINE void add(const Scores<Tile>& weights, const typename Tile::ValueTile& values,
                      const typename Tile::WeightTile& memory, Attended<Tile>& sum) const {
    if constexpr (!Unit::chains) put(weights, memory);
    constexpr int unrolled = Unit::chains ? Tile::keys / Tile::step : 1;
#pragma unroll unrolled
    for (int depth = 0; depth < Tile::keys; depth += Tile::step) {
      Left a[Tile::down][Tile::pieces];
#pragma unroll
      for (int i = 0; i < Tile::down; ++i)
#pragma unroll
        for (int p = 0; p < Tile::pieces; ++p)
          if constexpr (Unit::chains)
            a[i][p] = Unit::left_of(&weights[i][(depth + p * Unit::k) / Unit::n]);
          else
            a[i][p].read(memory, i * Unit::m, depth + p * Unit::k);
      add_step<Tile>(sum, a, [&](int j, int p, Rights<Tile>& to) {
        if constexpr (Unit::chains)
          Unit::read_two_behind(values, j * Unit::n, depth + p * Unit::k, to);
        else
          to[0].read(values, j * Unit::n, depth + p * Unit::k);
      });
    }
    if constexpr (!Unit::chains) wave_barrier();
  }

 private:
  GPU_INLINE void read(int step, Left (&to)[Tile::down][Tile::pieces]) const {
#pragma unroll
    for (int i = 0; i < Tile::down; ++i)
#pragma unroll
      for (int p = 0; p < Tile::pieces; ++p)
        to[i][p].read(queries_, Tile::first_row() + i * Unit::m, step * Tile::step + p * Unit::k);
  }
  static GPU_INLINE void put(const Scores<Tile>& weights, const typename Tile::WeightTile& memory) {
#pragma unroll
    for (int i = 0; i < Tile::down; ++i)
#pragma unroll
      for (int j = 0; j < Tile::key_units; ++j)
#pragma unroll
        for (int v = 0; v < Unit::values; ++v)
          *memory.at(i * Unit::m + Unit::row(v), j * Unit::n + Unit::column(v)) =
              convert<typename Tile::Element>(weights[i][j][v]);
    wave_barrier();
  }

  typename Tile::QueryTile queries_;
  Left kept_[Tile::keeps_queries ? steps : 1][Tile::down][Tile::pieces];
};

}  // namespace tenon::gpu
