// Attention in one kernel (FlashAttention-2: Dao, arXiv 2307.08691): a block takes some queries of one head
// and walks over the keys, a tile at a time; scores never leave the chip. Softmax goes along: weights are
// relative to a reference of their row, and what was summed is scaled when that grows.
#pragma once
#include "kernels/gpu/attention_tile.gpu.h"
#include "kernels/gpu/row_copies.gpu.h"
#include "kernels/gpu/wave.gpu.h"

namespace tenon::gpu {

/// The greater of two numbers; b if a is NaN: a maximum so far stays a number.
GPU_INLINE float larger(float a, float b) {
#if GPU_CUDA
  return fmaxf(a, b);
#else
  return a > b ? a : b;
#endif
}

/// 2^x for weights: what is below the normal numbers may be 0.
GPU_INLINE float weight_of(float x) {
#if GPU_CUDA
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#elif GPU_HIP
  return __builtin_amdgcn_exp2f(x);
#else
  return exp2_of(x);
#endif
}

/// Combines a value of each of the lanes that share rows.
template <class Unit, class Combine>
GPU_INLINE float over_row(float value, Combine combine) {
#pragma unroll
  for (int mask = Unit::lanes_of_row / 2; mask > 0; mask /= 2)
    value = combine(value, shuffle_xor(value, mask));
  return value;
}

/// The softmax of a lane's rows so far: base-2 logarithms that weights are relative to, and the sums of the
/// lane's own weights.
template <class Tile>
struct RowStates {
  using Unit = typename Tile::Unit;
  float reference[Tile::down][Unit::slots], sum[Tile::down][Unit::slots];

  GPU_INLINE RowStates() {
#pragma unroll
    for (int i = 0; i < Tile::down; ++i)
#pragma unroll
      for (int s = 0; s < Unit::slots; ++s) {
        reference[i][s] = float(-TENON_INFINITY);
        sum[i][s] = 0;
      }
  }

  /// Makes scores, `factor` times which are base-2 logarithms, to weights. The reference follows the highest
  /// score where that is so far ahead that weights might become too large; `attended` then shrinks.
  GPU_INLINE void soften(Scores<Tile>& scores, float factor, Attended<Tile>& attended) {
    constexpr float most_ahead = 8;
    float highest[Tile::down][Unit::slots];
    bool is_ahead = false;
#pragma unroll
    for (int i = 0; i < Tile::down; ++i) {
#pragma unroll
      for (int s = 0; s < Unit::slots; ++s) highest[i][s] = float(-TENON_INFINITY);
#pragma unroll
      for (int j = 0; j < Tile::key_units; ++j)
#pragma unroll
        for (int v = 0; v < Unit::values; ++v)
          highest[i][Unit::slot(v)] = larger(scores[i][j][v], highest[i][Unit::slot(v)]);
#pragma unroll
      for (int s = 0; s < Unit::slots; ++s) {
        highest[i][s] *= factor;
        is_ahead = is_ahead || highest[i][s] > reference[i][s] + most_ahead;
      }
    }
    if (vote(is_ahead)) raise(highest, attended);
#pragma unroll
    for (int i = 0; i < Tile::down; ++i) {
      float top[Unit::slots];
#pragma unroll
      for (int s = 0; s < Unit::slots; ++s)
        top[s] = reference[i][s] == float(-TENON_INFINITY) ? 0.0f : reference[i][s];
#pragma unroll
      for (int j = 0; j < Tile::key_units; ++j)
#pragma unroll
        for (int v = 0; v < Unit::values; ++v) {
          const int s = Unit::slot(v);
          scores[i][j][v] = weight_of(scores[i][j][v] * factor - top[s]);
          sum[i][s] += scores[i][j][v];
        }
    }
  }

 private:
  GPU_INLINE void raise(const float (&highest)[Tile::down][Unit::slots], Attended<Tile>& attended) {
#pragma unroll
    for (int i = 0; i < Tile::down; ++i) {
      float shrink[Unit::slots];
#pragma unroll
      for (int s = 0; s < Unit::slots; ++s) {
        const float top = larger(over_row<Unit>(highest[i][s], larger), reference[i][s]);
        shrink[s] = reference[i][s] == top ? 1.0f : weight_of(reference[i][s] - top);
        reference[i][s] = top;
        sum[i][s] *= shrink[s];
      }
#pragma unroll
      for (int j = 0; j < Tile::across; ++j)
#pragma unroll
        for (int v = 0; v < Unit::values; ++v) attended[i][j][v] *= shrink[Unit::slot(v)];
    }
  }
};

/// Is a number of the wave's not finite?
template <int Down, int Units, int Values>
GPU_INLINE bool has_infinities(const float (&numbers)[Down][Units][Values]) {
  float zero = 0;
#pragma unroll
  for (int i = 0; i < Down; ++i)
#pragma unroll
    for (int j = 0; j < Units; ++j)
#pragma unroll
      for (int v = 0; v < Values; ++v) zero += numbers[i][j][v] * 0.0f;  // else NaN
  return vote(!(zero == 0)) != 0;
}

/// The wave's products of queries and keys, on the ordinary units: infinities have no parts.
template <class Tile, class T>
GPU_INLINE void multiply_again(const Matrix<T>& q, const Matrix<T>& k, int first_query, int first_key,
                               const typename Tile::WeightTile& memory, Scores<Tile>& scores) {
  using Unit = typename Tile::Unit;
#pragma unroll 1
  for (int e = lane_of_thread(); e < Tile::rows_of_wave * Tile::keys; e += wave_size) {
    const int row = e / Tile::keys, column = e % Tile::keys;
    *memory.at(row, column) =
        element<float>(q, k, first_query + Tile::first_row() + row, first_key + column, 0, q.depths);
  }
  wave_barrier();
#pragma unroll
  for (int i = 0; i < Tile::down; ++i)
#pragma unroll
    for (int j = 0; j < Tile::key_units; ++j)
#pragma unroll
      for (int v = 0; v < Unit::values; ++v)
        scores[i][j][v] = *memory.at(i * Unit::m + Unit::row(v), j * Unit::n + Unit::column(v));
  wave_barrier();
}

/// One element of the result, on the ordinary units.
template <class T, class Score>
GPU_INLINE float attended_element(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, int query,
                                  int column, int key_end, const Score& score) {
  const auto logarithm = [&](int key) {
    return score(query, key, element<float>(q, k, query, key, 0, q.depths)) * score.factor;
  };
  float highest = float(-TENON_INFINITY), weights = 0, sum = 0;
  for (int key = 0; key < key_end; ++key) highest = larger(logarithm(key), highest);
  for (int key = 0; key < key_end; ++key) {
    const float weight = exp2_of(logarithm(key) - highest);
    weights += weight;
    sum += weight * convert<float>(*v.at(v.line(column), v.depth(key)));
  }
  return sum / score.total(weights, highest);
}

/// Writes a wave's rows, in chunks of OutCount elements. An element that is not finite becomes
/// mend(row of the tile, column, element) before.
template <class Tile, int OutCount, class T, class Mend>
GPU_INLINE void put_rows(const Attended<Tile>& sum, char* memory, T* out, Int stride, int rows, int columns,
                         Mend mend) {
  using Unit = typename Tile::Unit;
  T* const slab = reinterpret_cast<T*>(memory + Tile::wave() * Tile::slab_bytes);
  const bool mends = has_infinities(sum);
#pragma unroll
  for (int i = 0; i < Tile::down; ++i) {
    const int first = Tile::first_row() + i * Unit::m;
#pragma unroll
    for (int j = 0; j < Tile::across; ++j)
#pragma unroll
      for (int v = 0; v < Unit::values; v += Unit::side_by_side) {
        T elements[Unit::side_by_side];
        for (int e = 0; e < Unit::side_by_side; ++e) elements[e] = convert<T>(sum[i][j][v + e]);
        write_pieces(slab + Unit::row(v) * Tile::slab_stride + j * Unit::n + Unit::column(v), elements);
      }
    wave_barrier();
    if (mends) {
#pragma unroll 1
      for (int e = lane_of_thread(); e < Unit::m * Tile::width; e += wave_size) {
        const int row = first + e / Tile::width, column = e % Tile::width;
        T& element = slab[e / Tile::width * Tile::slab_stride + column];
        if (row < rows && column < columns && !isfinite(number(element)))
          element = mend(row, column, element);
      }
      wave_barrier();
    }
    constexpr int chunks = Tile::width / OutCount;
#pragma unroll 4
    for (int c = lane_of_thread(); c < Unit::m * chunks; c += wave_size) {
      const int row = c / chunks, column = c % chunks * OutCount;
      T elements[OutCount];
      read_pieces(slab + row * Tile::slab_stride + column, elements);
      if (first + row < rows && column < columns)
        write_pieces(out + (first + row) * stride + column, elements);
    }
    wave_barrier();
  }
}

/// What weights are made of (attend).
template <class Total, class AskedFrom, class Ends, class Ask>
struct Score {
  float factor;
  Total total;
  AskedFrom asked_from;
  Ends end;
  Ask ask;
  GPU_INLINE float operator()(int query, int key, float product) const { return ask(query, key, product); }
};
template <class Total, class AskedFrom, class Ends, class Ask>
GPU_INLINE Score<Total, AskedFrom, Ends, Ask> score_of(float factor, const Total& total,
                                                       const AskedFrom& asked_from, const Ends& end,
                                                       const Ask& ask) {
  return {factor, total, asked_from, end, ask};
}

/// Makes products to scores, of the keys that there are.
template <class Tile, class Ask>
GPU_INLINE void ask(int first_query, int first_key, int keys, const Ask& score, Scores<Tile>& scores) {
  using Unit = typename Tile::Unit;
#pragma unroll
  for (int i = 0; i < Tile::down; ++i)
#pragma unroll
    for (int j = 0; j < Tile::key_units; ++j)
#pragma unroll
      for (int v = 0; v < Unit::values; ++v) {
        const int query = first_query + i * Unit::m + Unit::row(v);
        const int key = first_key + j * Unit::n + Unit::column(v);
        scores[i][j][v] = key < keys ? score(query, key, scores[i][j][v]) : float(-TENON_INFINITY);
      }
}

template <class SideTile>
GPU_INLINE SideTile tile_at(char* memory) {
  return {reinterpret_cast<decltype(SideTile::data)>(memory)};
}

/// Of elements in chunks of how many rows are read and written.
template <int Query, int Key, int Value, int Out>
struct RowChunks {
  static constexpr int query = Query, key = Key, value = Value, out = Out;
};

/// Queries [first_query, first_query + Tile::queries) of one head, whose result begins at `out`.
/// score(query, key, product), times score.factor, is the base-2 logarithm of a weight before it is
/// normalised, -inf where there is none. It is asked of keys from score.asked_from(query) on, before which it
/// is the product; from score.end(query) on there are none. Both grow with the query. What weights are
/// normalised by is score.total(sum, highest) of them, relative to 2^highest. Rows without any weight are NaN
/// or, without nan_rows, zero.
template <class Tile, class Chunks, class T, class Score>
GPU_INLINE void attend(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, T* out, Int out_stride,
                       int first_query, bool nan_rows, const Score& score) {
  using Unit = typename Tile::Unit;
  char* const at = Tile::memory();
  GPU_SHARED(float, totals, [Tile::queries]);
  const auto keys = tile_at<typename Tile::KeyTile>(at);
  const auto values = tile_at<typename Tile::ValueTile>(at + Tile::value_begin);
  const auto weights =
      tile_at<typename Tile::WeightTile>(at + Tile::weight_begin + Tile::wave() * Tile::weight_bytes);
  const auto queries = tile_at<typename Tile::QueryTile>(at + Tile::query_begin);

  RowCopies<typename Tile::QueryTile, Tile::queries, Tile::size, Chunks::query, Tile::threads> q_rows(
      q.data + first_query * q.line_stride, int(q.lines) - first_query, q.depths, q.line_stride);
  RowCopies<typename Tile::KeyTile, Tile::keys, Tile::size, Chunks::key, Tile::threads> k_rows(
      k.data, int(k.lines), k.depths, k.line_stride);
  RowCopies<typename Tile::ValueTile, Tile::keys, Tile::width, Chunks::value, Tile::threads> v_rows(
      v.data, v.depths, int(v.lines), v.depth_stride);
  q_rows.begin(queries);
  k_rows.begin(keys);
  commit_copies();
  typename Tile::Products products(queries);

  const int first_row = first_query + Tile::first_row();
  const auto end_for = [&](int query) {
    return score.end(query) < k.lines ? score.end(query) : int(k.lines);
  };
  const int key_end = end_for(first_query + Tile::queries - 1);
  const int asked_from = score.asked_from(first_row) < k.lines ? score.asked_from(first_row) : int(k.lines);
  // Of the rows that are multiplied together.
  const int first_together = first_row - Tile::first_row() % Tile::rows_together;
  const int end = first_together < q.lines ? end_for(first_together + Tile::rows_together - 1) : 0;
  // On WMMA the branch would take more registers than there are.
  constexpr bool may_skip = Unit::chains && Tile::rows_together < Tile::queries;
  RowStates<Tile> rows;
  Attended<Tile> sum = {};
  for (int first_key = 0; first_key < key_end; first_key += Tile::keys) {
    Tile::wait();
    v_rows.begin(values);
    commit_copies();

    Scores<Tile> scores;
    const bool sees_keys = !may_skip || first_key < end;
    if (sees_keys) {
      products.multiply(keys, scores);
      if constexpr (Unit::takes_apart)
        if (has_infinities(scores)) multiply_again<Tile>(q, k, first_query, first_key, weights, scores);
      if (first_key + Tile::keys > asked_from) ask<Tile>(first_row, first_key, int(k.lines), score, scores);
      rows.soften(scores, score.factor, sum);
    }

    Tile::wait();
    if (first_key + Tile::keys < key_end) k_rows.begin(keys);
    commit_copies();
    if (sees_keys) products.add(scores, values, weights, sum);
  }
#pragma unroll
  for (int i = 0; i < Tile::down; ++i) {
    float total[Unit::slots], share[Unit::slots];
#pragma unroll
    for (int s = 0; s < Unit::slots; ++s) {
      total[s] = score.total(over_row<Unit>(rows.sum[i][s], [](float a, float b) { return a + b; }),
                             rows.reference[i][s]);
      share[s] = 1 / total[s];
    }
#pragma unroll
    for (int e = 0; e < Unit::values; ++e)
      if (int(threadIdx.x) % Unit::lanes_of_row == 0)  // one of those that share the row
        totals[Tile::first_row() + i * Unit::m + Unit::row(e)] = total[Unit::slot(e)];
#pragma unroll
    for (int j = 0; j < Tile::across; ++j)
#pragma unroll
      for (int e = 0; e < Unit::values; ++e) {
        const int s = Unit::slot(e);
        sum[i][j][e] = total[s] == 0 && !nan_rows ? 0.0f : sum[i][j][e] * share[s];
      }
  }
  Tile::wait();
  // Where v is not finite, a weight may have become zero in the element's type, or been taken apart.
  put_rows<Tile, Chunks::out>(
      sum, at, out + first_query * out_stride, out_stride, int(q.lines) - first_query, int(v.lines),
      [&](int row, int column, T element) {
        if (!isfinite(totals[row]) || totals[row] == 0) return element;
        return convert<T>(attended_element(q, k, v, first_query + row, column, key_end, score));
      });
}

}  // namespace tenon::gpu
