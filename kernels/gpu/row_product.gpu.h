// Products of a few rows, whose time is that of reading the right side: waves multiply the rows by some
// columns that they read once, 16 bytes at a time, straight to registers.
#pragma once
#include "kernels/gpu/coded_side.gpu.h"
#include "kernels/gpu/loop_walks.gpu.h"

namespace tenon::gpu {

constexpr int row_product_threads = 128;
constexpr int row_product_lanes = 32;  // of a team: a wave has one or two

/// The lines of a side from one on; for those beyond the last, the last.
template <int Count, class Side>
GPU_INLINE void find_lines(const Side& side, Int first, typename Side::OneLine (&lines)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i)
    lines[i] = side.one_line(first + i < side.lines ? first + i : side.lines - 1);
}

/// Adds what `Steps` pieces of each line give, which exist: the first from depth k on, `apart` depths from
/// one to the next. All pieces of the columns are on their way before the first is used.
template <int Count, int Steps, int Rows, int Columns, class Left, class Right>
GPU_INLINE void add_depths(const Left (&left)[Rows], const Right (&right)[Columns], int k, int apart,
                           float (&sum)[Rows * Columns]) {
  decltype(right[0].template piece<Count>(0)) pieces[Steps][Columns];
#pragma unroll
  for (int s = 0; s < Steps; ++s)
#pragma unroll
    for (int j = 0; j < Columns; ++j) pieces[s][j] = right[j].template piece<Count>(k + s * apart);
  constexpr int part = 16 / int(sizeof(*left[0].elements));
#pragma unroll
  for (int s = 0; s < Steps; ++s)
#pragma unroll
    for (int first = 0; first < Count; first += part) {
      float x[Rows][part];
#pragma unroll
      for (int i = 0; i < Rows; ++i) {
        const auto piece = left[i].template piece<part>(k + s * apart + first);
        for (int e = 0; e < part; ++e) x[i][e] = piece.at(e);
      }
#pragma unroll
      for (int j = 0; j < Columns; ++j)
#pragma unroll
        for (int e = 0; e < part; ++e) {
          const float w = pieces[s][j].at(first + e);
#pragma unroll
          for (int i = 0; i < Rows; ++i) sum[i * Columns + j] += x[i][e] * w;
        }
    }
}

/// The sum of what all lanes of the team have of value (lane % Count). Each step leaves half of the values to
/// the other lane.
template <int Count>
GPU_INLINE float sum_over_team(float (&value)[Count], int lane) {
  static_assert(Count <= row_product_lanes);
#pragma unroll
  for (int half = Count / 2; half > 0; half /= 2) {
    const bool is_upper = lane & half;
#pragma unroll
    for (int i = 0; i < half; ++i)
      value[i] =
          (is_upper ? value[i + half] : value[i]) + shuffle_xor(is_upper ? value[i] : value[i + half], half);
  }
#pragma unroll
  for (int mask = Count; mask < row_product_lanes; mask *= 2) value[0] += shuffle_xor(value[0], mask);
  return value[0];
}

/// Calls store(piece) for all rows (at most Rows) and the block's columns: `Columns` for
/// each `Sharing` teams, which divide the depth.
template <int Rows, int Columns, int Sharing, int Steps, int Count, class T, class Right, class Store>
GPU_INLINE void multiply_rows(const Matrix<T>& left, const Right& right, Store store) {
  constexpr int teams = row_product_threads / row_product_lanes, values = Rows * Columns;
  static_assert(teams % Sharing == 0);
  const int team = int(threadIdx.x) / row_product_lanes, lane = int(threadIdx.x) % row_product_lanes;
  const int place = int(threadIdx.x) % (Sharing * row_product_lanes);  // among those that divide the depth
  const Int first_column = (Int(blockIdx.x) * (teams / Sharing) + team / Sharing) * Columns;
  typename Matrix<T>::OneLine rows[Rows];
  typename Right::OneLine columns[Columns];
  find_lines(left, 0, rows);
  find_lines(right, first_column, columns);
  float sum[values] = {};
  constexpr int apart = Sharing * row_product_lanes * Count;
  const int whole = left.depths / Count * Count;
  int k = place * Count;
  for (; k + (Steps - 1) * apart < whole; k += Steps * apart)
    add_depths<Count, Steps>(rows, columns, k, apart, sum);
  for (; k < whole; k += apart) add_depths<Count, 1>(rows, columns, k, apart, sum);
  const int rest = whole + place;  // fills no piece: a lane each
  if (rest < left.depths)
#pragma unroll
    for (int i = 0; i < Rows; ++i)
#pragma unroll
      for (int j = 0; j < Columns; ++j)
        sum[i * Columns + j] += rows[i].number_at(rest) * columns[j].number_at(rest);
  float value = sum_over_team(sum, lane);
  if constexpr (Sharing > 1) {
    GPU_SHARED(float, part, [teams][values]);
    if (lane < values) part[team][lane] = value;
    __syncthreads();
    if (team % Sharing > 0 || lane >= values) return;
#pragma unroll
    for (int other = 1; other < Sharing; ++other) value += part[team + other][lane];
  }
  const Int row = lane / Columns, column = first_column + lane % Columns;
  if (lane < values && row < left.lines && column < right.lines)
    store(Pieces<float, 1>::of(row, column, value));
}

}  // namespace tenon::gpu
