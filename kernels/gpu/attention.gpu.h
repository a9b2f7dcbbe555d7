// Attention in one kernel (FlashAttention-2: Dao, arXiv 2307.08691): a block takes some queries of one head
// and walks over the keys, a tile at a time; scores never leave the chip. Softmax goes along: each row has
// its maximum and its sum so far, and what was summed is scaled when the maximum grows.
#pragma once
#include "kernels/gpu/product.gpu.h"

namespace tenon::gpu {

/// What a block computes with: a unit; Queries rows, of 16 for each wave; Keys columns at a time; rows of
/// q and k and of v, filled up to multiples of 16.
template <class UnitOfTile, int Queries, int Keys, int Size, int ValueSize>
struct AttentionTile {
  using Unit = UnitOfTile;
  using Element = typename Unit::Element;
  using Value = float;
  static constexpr int queries = Queries, keys = Keys, size = Size;
  static constexpr int waves = Queries / Unit::m, threads = waves * wave_size;
  static constexpr int key_units = Keys / Unit::n;
  static_assert(Unit::m == 16 && Keys % Unit::n == 0 && ValueSize % Unit::n == 0 && Keys % Unit::k == 0);

  using QueryTile = SharedTile<Element, Queries, Size, true>;
  using KeyTile = SharedTile<Element, Keys, Size, true>;
  using ValueTile = SharedTile<Element, ValueSize, Keys, false>;
  using WeightTile = SharedTile<Element, Unit::m, Keys, true>;  // of a wave

  // The result, for for_each_value.
  static constexpr int down = 1, across = ValueSize / Unit::n, width = ValueSize;
  static constexpr int slab_stride = width + 4, slab_bytes = Unit::m * slab_stride * int(sizeof(float));
  static GPU_INLINE int wave() { return int(threadIdx.x) / wave_size; }
  static GPU_INLINE int first_row() { return wave() * Unit::m; }
  static GPU_INLINE int first_column() { return 0; }

  static constexpr int key_begin = QueryTile::bytes, value_begin = key_begin + KeyTile::bytes;
  static constexpr int weight_begin = value_begin + ValueTile::bytes;
  static constexpr int all_bytes = weight_begin + waves * WeightTile::bytes;
  static constexpr int bytes = all_bytes > waves* slab_bytes ? all_bytes : waves* slab_bytes;
};

/// Adds a product of one step, rounded.
template <class Unit>
GPU_INLINE void add_product(float (&sum)[Unit::values], const typename Unit::Left& a,
                            const typename Unit::Right& b) {
  if constexpr (Unit::in_parts) {
    float part[Unit::values] = {};
    Unit::multiply(part, a, b);
#pragma unroll
    for (int i = 0; i < Unit::values; ++i) sum[i] += part[i];
  } else {
    Unit::multiply(sum, a, b);
  }
}

/// b if one of them is NaN: a maximum so far stays a number.
GPU_INLINE float larger(float a, float b) { return a > b ? a : b; }

/// The maximum and the sum of the exponentials of a row's scores so far, for the rows of a lane.
template <class Unit>
struct RowStates {
  float highest[Unit::slots], sum[Unit::slots];

  GPU_INLINE RowStates() {
#pragma unroll
    for (int s = 0; s < Unit::slots; ++s) {
      highest[s] = -TENON_INFINITY;
      sum[s] = 0;
    }
  }
};

/// Combines a value of each of the lanes that share rows.
template <class Unit, class Combine>
GPU_INLINE float over_row(float value, Combine combine) {
#pragma unroll
  for (int mask = Unit::lanes_of_row / 2; mask > 0; mask /= 2)
    value = combine(value, shuffle_xor(value, mask));
  return value;
}

template <class Tile>
using Scores = float[Tile::key_units][Tile::Unit::values];

/// Makes scores, which are base-2 logarithms, to weights, and gives for each slot what earlier sums shrink
/// by.
template <class Tile>
GPU_INLINE void soften(float (&scores)[Tile::key_units][Tile::Unit::values],
                       RowStates<typename Tile::Unit>& rows, float (&shrink)[Tile::Unit::slots]) {
  using Unit = typename Tile::Unit;
  float highest[Unit::slots], sum[Unit::slots];
#pragma unroll
  for (int s = 0; s < Unit::slots; ++s) {
    highest[s] = rows.highest[s];
    sum[s] = 0;
  }
#pragma unroll
  for (int j = 0; j < Tile::key_units; ++j)
#pragma unroll
    for (int v = 0; v < Unit::values; ++v)
      highest[Unit::slot(v)] = larger(scores[j][v], highest[Unit::slot(v)]);
#pragma unroll
  for (int s = 0; s < Unit::slots; ++s) {
    highest[s] = over_row<Unit>(highest[s], larger);
    shrink[s] = rows.highest[s] == highest[s] ? 1.0f : exp2_of(rows.highest[s] - highest[s]);
    rows.highest[s] = highest[s];
  }
#pragma unroll
  for (int j = 0; j < Tile::key_units; ++j)
#pragma unroll
    for (int v = 0; v < Unit::values; ++v) {
      const float top = highest[Unit::slot(v)];
      scores[j][v] = exp2_of(scores[j][v] - (top == float(-TENON_INFINITY) ? 0.0f : top));
      sum[Unit::slot(v)] += scores[j][v];
    }
#pragma unroll
  for (int s = 0; s < Unit::slots; ++s)
    rows.sum[s] = rows.sum[s] * shrink[s] + over_row<Unit>(sum[s], [](float a, float b) { return a + b; });
}

/// Is a product of the wave not finite?
template <class Tile>
GPU_INLINE bool has_infinities(const Scores<Tile>& scores) {
  int found = 0;
#pragma unroll
  for (int j = 0; j < Tile::key_units; ++j)
#pragma unroll
    for (int i = 0; i < Tile::Unit::values; ++i) found |= !isfinite(scores[j][i]);
#pragma unroll
  for (int mask = wave_size / 2; mask > 0; mask /= 2) found |= shuffle_xor(found, mask);
  return found != 0;
}

/// The wave's products of queries and keys, on the ordinary units: infinities have no parts.
template <class Tile, class T>
GPU_INLINE void multiply_again(const Matrix<T>& q, const Matrix<T>& k, int first_query, int first_key,
                               const typename Tile::WeightTile& memory, Scores<Tile>& scores) {
  using Unit = typename Tile::Unit;
#pragma unroll 1
  for (int e = int(threadIdx.x) % wave_size; e < Unit::m * Tile::keys; e += wave_size) {
    const int row = e / Tile::keys, column = e % Tile::keys;
    *memory.at(row, column) =
        element<float>(q, k, first_query + Tile::first_row() + row, first_key + column, 0, q.depths);
  }
  wave_barrier();
#pragma unroll
  for (int j = 0; j < Tile::key_units; ++j)
#pragma unroll
    for (int i = 0; i < Unit::values; ++i)
      scores[j][i] = *memory.at(Unit::row(i), j * Unit::n + Unit::column(i));
  wave_barrier();
}

/// One element of the result, on the ordinary units.
template <class T, class Score>
GPU_INLINE float attended(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, int query, int column,
                          int key_end, Score score) {
  float highest = float(-TENON_INFINITY), weights = 0, sum = 0;
  for (int key = 0; key < key_end; ++key)
    highest = larger(score(query, key, element<float>(q, k, query, key, 0, q.depths)), highest);
  for (int key = 0; key < key_end; ++key) {
    const float weight = exp2_of(score(query, key, element<float>(q, k, query, key, 0, q.depths)) - highest);
    weights += weight;
    sum += weight * convert<float>(*v.at(v.line(column), v.depth(key)));
  }
  return sum / weights;
}

/// Queries [first_query, first_query + Tile::queries) of one head. `score(query, key, product)` is the base-2
/// logarithm of a weight before it is normalised, -inf where there is none; keys from `key_end` on have none.
/// Calls store(query, column, value). Rows without any weight are NaN or, without nan_rows, zero.
template <class Tile, int QueryCount, int KeyCount, int ValueCount, class T, class Score, class Store>
GPU_INLINE void attend(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, int first_query,
                       int key_end, bool nan_rows, Score score, Store store) {
  using Unit = typename Tile::Unit;
  using Element = typename Tile::Element;
  GPU_SHARED(uint4, memory, [(Tile::bytes + 15) / 16]);
  char* const at = reinterpret_cast<char*>(memory);
  const typename Tile::QueryTile queries{reinterpret_cast<Element*>(at)};
  const typename Tile::KeyTile keys{reinterpret_cast<Element*>(at + Tile::key_begin)};
  const typename Tile::ValueTile values{reinterpret_cast<Element*>(at + Tile::value_begin)};
  const typename Tile::WeightTile weights{
      reinterpret_cast<Element*>(at + Tile::weight_begin + Tile::wave() * Tile::WeightTile::bytes)};

  Loader<Matrix<T>, typename Tile::QueryTile, Tile::queries, Tile::size, QueryCount, Tile::threads, false>
      q_loader(q, first_query);
  Loader<Matrix<T>, typename Tile::ValueTile, Tile::width, Tile::keys, ValueCount, Tile::threads, false>
      v_loader(v, 0);
  Loader<Matrix<T>, typename Tile::KeyTile, Tile::keys, Tile::size, KeyCount, Tile::threads, false> k_loader(
      k, 0);
  q_loader.begin(0, queries);
  k_loader.begin(0, keys);
  commit_copies();

  RowStates<Unit> rows;
  Sums<Tile> sum = {};
  for (int first_key = 0; first_key < key_end; first_key += Tile::keys) {
    wait_for_copies<0>();
    __syncthreads();
    v_loader.begin(first_key, values);
    commit_copies();

    Scores<Tile> scores = {};
#pragma unroll 4
    for (int d = 0; d < Tile::size; d += Unit::k) {
      typename Unit::Left a;
      a.read(queries, Tile::first_row(), d);
#pragma unroll
      for (int j = 0; j < Tile::key_units; ++j) {
        typename Unit::Right b;
        b.read(keys, j * Unit::n, d);
        add_product<Unit>(scores[j], a, b);
      }
    }
    if constexpr (Unit::takes_apart)
      if (has_infinities<Tile>(scores)) multiply_again<Tile>(q, k, first_query, first_key, weights, scores);
#pragma unroll
    for (int j = 0; j < Tile::key_units; ++j)
#pragma unroll
      for (int i = 0; i < Unit::values; ++i) {
        const int query = first_query + Tile::first_row() + Unit::row(i);
        const int key = first_key + j * Unit::n + Unit::column(i);
        scores[j][i] = key < key_end ? score(query, key, scores[j][i]) : float(-TENON_INFINITY);
      }
    float shrink[Unit::slots];
    soften<Tile>(scores, rows, shrink);
#pragma unroll
    for (int j = 0; j < Tile::key_units; ++j)
#pragma unroll
      for (int i = 0; i < Unit::values; ++i)
        *weights.at(Unit::row(i), j * Unit::n + Unit::column(i)) = convert<Element>(scores[j][i]);

    wait_for_copies<0>();
    __syncthreads();
    if (first_key + Tile::keys < key_end) {
      k_loader.move_to(first_key + Tile::keys);
      k_loader.begin(0, keys);
    }
    commit_copies();
#pragma unroll
    for (int j = 0; j < Tile::across; ++j)
#pragma unroll
      for (int i = 0; i < Unit::values; ++i) sum[0][j][i] *= shrink[Unit::slot(i)];
#pragma unroll 4
    for (int d = 0; d < Tile::keys; d += Unit::k) {
      typename Unit::Left a;
      a.read(weights, 0, d);
#pragma unroll
      for (int j = 0; j < Tile::across; ++j) {
        typename Unit::Right b;
        b.read(values, j * Unit::n, d);
        add_product<Unit>(sum[0][j], a, b);
      }
    }
  }
  GPU_SHARED(float, totals, [Tile::queries]);
#pragma unroll
  for (int i = 0; i < Unit::values; ++i)
    if (int(threadIdx.x) % Unit::lanes_of_row == 0)  // one of those that share the row
      totals[Tile::first_row() + Unit::row(i)] = rows.sum[Unit::slot(i)];
#pragma unroll
  for (int j = 0; j < Tile::across; ++j)
#pragma unroll
    for (int i = 0; i < Unit::values; ++i) {
      const float total = rows.sum[Unit::slot(i)];
      sum[0][j][i] = total == 0 && !nan_rows ? 0.0f : sum[0][j][i] / total;
    }
  wait_for_copies<0>();
  __syncthreads();
  // Where v is not finite, a weight may have become zero in the element's type, or been taken apart.
  for_each_value<Tile, true>(
      sum, memory,
      [&](int i, int j, float value) {
        const bool exists = first_query + i < q.lines && j < v.lines;
        if (!exists || !isfinite(totals[i]) || totals[i] == 0) return value;
        return attended(q, k, v, first_query + i, j, key_end, score);
      },
      [&](int i, int j, float value) {
        if (first_query + i < q.lines && j < v.lines) store(first_query + i, j, value);
      });
}

}  // namespace tenon::gpu
