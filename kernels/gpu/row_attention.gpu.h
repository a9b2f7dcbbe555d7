// Attention of a few queries, whose time is that of reading keys and values: a block takes one query of a
// head; teams of neighbouring lanes take keys in turn, each lane 16 bytes of a key and of its value, with a
// softmax of their own, and join what they have in the end. Where that makes few blocks, several take a part
// of the keys each, and a second kernel joins what they have.
#pragma once
#include "kernels/gpu/loop_walks.gpu.h"
#include "kernels/gpu/product_sides.gpu.h"
#include "kernels/gpu/wave.gpu.h"

namespace tenon::gpu {

constexpr int row_attention_threads = 256;

/// What was summed of some keys: weights relative to 2^highest.
template <int Count>
struct WeightedSum {
  float highest = float(-TENON_INFINITY), weights = 0, values[Count] = {};

  /// Sums from now on are relative to 2^top, which is not below `highest`.
  GPU_INLINE void raise(float top) {
    if (top == highest) return;
    const float shrink = exp2_of(highest - top);
    highest = top;
    weights *= shrink;
    for (int e = 0; e < Count; ++e) values[e] *= shrink;
  }
  GPU_INLINE void join(WeightedSum other) {
    const float top = other.highest > highest ? other.highest : highest;
    raise(top);
    other.raise(top);
    weights += other.weights;
    for (int e = 0; e < Count; ++e) values[e] += other.values[e];
  }
};

/// Joins what the teams of a wave have.
template <int Team, int Count>
GPU_INLINE void join_teams(WeightedSum<Count>& sum) {
#pragma unroll
  for (int mask = Team; mask < wave_size; mask *= 2) sum.join(shuffle_xor(sum, mask));
}

/// Calls finish(column, sum) in the lanes of one team, with what the keys [key_begin, key_end) add to the
/// columns from there on. `score` as attend() has it, of (key, product). Team: lanes, a power of two, that
/// hold a row of q, k and v, `Count` elements each.
template <int Team, int Count, class T, class Score, class Finish>
GPU_INLINE void attend_row(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, int query,
                           int key_begin, int key_end, Score score, Finish finish) {
  constexpr int teams = row_attention_threads / Team, at_once = 8;
  const int member = int(threadIdx.x) % Team, team = int(threadIdx.x) / Team, first = member * Count;
  float x[Count];
  read_floats(q, query, first, x);
  WeightedSum<Count> sum;
  for (int begin = key_begin; begin < key_end;
       begin += teams * at_once) {  // of all teams: lanes of a wave stay together
    float keys[at_once][Count], values[at_once][Count], scores[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      read_floats(k, begin + team + i * teams, first, keys[i]);
      read_floats(v, begin + team + i * teams, first, values[i]);
    }
    float top = sum.highest;
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int key = begin + team + i * teams;
      float product = 0;
      for (int e = 0; e < Count; ++e) product += x[e] * keys[i][e];
#pragma unroll
      for (int mask = Team / 2; mask > 0; mask /= 2) product += shuffle_xor(product, mask);
      scores[i] = key < key_end ? score(key, product) : float(-TENON_INFINITY);
      top = scores[i] > top ? scores[i] : top;
    }
    sum.raise(top);
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const float weight = exp2_of(scores[i] - (top == float(-TENON_INFINITY) ? 0.0f : top));
      sum.weights += weight;
      for (int e = 0; e < Count; ++e) sum.values[e] += weight * values[i][e];
    }
  }

  // The teams of each wave, then the waves, of which each team of the first one takes some.
  constexpr int waves = row_attention_threads / wave_size, teams_of_wave = wave_size / Team;
  GPU_SHARED(float, parts, [waves][Team][Count + 2]);
  join_teams<Team>(sum);
  if (team % teams_of_wave == 0) GPU_COPY(parts[wave_of_thread()][member], &sum, sizeof sum);
  __syncthreads();
  if (wave_of_thread() != 0) return;
  sum = WeightedSum<Count>();
  for (int wave = team; wave < waves; wave += teams_of_wave) {
    WeightedSum<Count> part;
    GPU_COPY(&part, parts[wave][member], sizeof part);
    sum.join(part);
  }
  join_teams<Team>(sum);
  if (team == 0) finish(first, sum);
}

GPU_INLINE float quotient_of(float value, float weights, bool nan_rows) {
  return weights == 0 && !nan_rows ? 0.0f : value / weights;
}

/// Calls store(column, value). `total` as attend() has it.
template <int Count, class Total, class Store>
GPU_INLINE void put_row(const WeightedSum<Count>& sum, int first, int columns, bool nan_rows, Total total,
                        Store store) {
  const float weights = total(sum.weights, sum.highest);
  for (int e = 0; e < Count; ++e)
    if (first + e < columns) store(first + e, quotient_of(sum.values[e], weights, nan_rows));
}

/// What a block found of its keys: the highest score, the weights, the values.
template <int Count>
GPU_INLINE void put_part(float* part, int first, int columns, const WeightedSum<Count>& sum) {
  if (first == 0) {
    part[0] = sum.highest;
    part[1] = sum.weights;
  }
  for (int e = 0; e < Count; ++e)
    if (first + e < columns) part[2 + first + e] = sum.values[e];
}
/// Calls store(column, value) for the row whose `count` parts follow each other.
template <class Total, class Store>
GPU_INLINE void join_parts(const float* parts, int count, int columns, bool nan_rows, Total total,
                           Store store) {
  const int size = columns + 2;
  float top = float(-TENON_INFINITY);
  for (int p = 0; p < count; ++p) top = parts[p * size] > top ? parts[p * size] : top;
  if (top == float(-TENON_INFINITY)) top = 0;
  for (int column = int(threadIdx.x); column < columns; column += int(blockDim.x)) {
    float weights = 0, value = 0;
    for (int p = 0; p < count; ++p) {
      const float* const part = parts + p * size;
      const float shrink = exp2_of(part[0] - top);
      weights += part[1] * shrink;
      value += part[2 + column] * shrink;
    }
    store(column, quotient_of(value, total(weights, top), nan_rows));
  }
}

}  // namespace tenon::gpu
