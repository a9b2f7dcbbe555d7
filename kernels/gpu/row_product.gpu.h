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

/// Of values that lanes of a team have each: sums over the lanes whose numbers are equal modulo `Apart`, of
/// which each lane keeps some. Each step leaves half of them to the other lane.
template <int Apart, int Count>
class SharedSums {
  static constexpr int lanes = row_product_lanes / Apart;

 public:
  static constexpr int count = Count > lanes ? Count / lanes : 1;
  int first = 0;          // the lane keeps value[0], value[1], ..., which are the sums from `first` on
  bool is_spare = false;  // another lane keeps them, too

  GPU_INLINE SharedSums(float (&value)[Count], int lane) {
    int left = Count;
#pragma unroll
    for (int mask = row_product_lanes / 2; mask >= Apart; mask /= 2) {
      const bool is_upper = lane & mask;
      if (left == 1) {
        value[0] += shuffle_xor(value[0], mask);
        is_spare = is_spare || is_upper;
        continue;
      }
      left /= 2;
      if (is_upper) first += left;
#pragma unroll
      for (int i = 0; i < Count / 2; ++i) {
        if (i >= left) continue;
        const float low = value[i], high = value[i + left];
        value[i] = (is_upper ? high : low) + shuffle_xor(is_upper ? low : high, mask);
      }
    }
  }
};

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
  const SharedSums<1, values> mine(sum, lane);
  float value = sum[0];
  if constexpr (Sharing > 1) {
    GPU_SHARED(float, part, [teams][values]);
    if (!mine.is_spare) part[team][mine.first] = value;
    __syncthreads();
    if (team % Sharing > 0 || mine.is_spare) return;
#pragma unroll
    for (int other = 1; other < Sharing; ++other) value += part[team + other][mine.first];
  }
  const Int row = mine.first / Columns, column = first_column + mine.first % Columns;
  if (!mine.is_spare && row < left.lines && column < right.lines)
    store(Pieces<float, 1>::of(row, column, value));
}

constexpr int across_product_threads = 512;

/// Adds what `Steps` depths give to the columns of a piece: x is where the left side's element of the first
/// row lies, w where the right side's piece does; `apart` depths from one to the next.
template <int Steps, int Rows, int Count, class T>
GPU_INLINE void add_across(const Matrix<T>& left, const T* x, const T* w, Int x_apart, Int w_apart,
                           float (&sum)[Rows * Count]) {
  RawPiece<T, Count> pieces[Steps];
#pragma unroll
  for (int s = 0; s < Steps; ++s)
    read_pieces(reinterpret_cast<const unsigned*>(w + s * w_apart), pieces[s].words);
#pragma unroll
  for (int s = 0; s < Steps; ++s)
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      const float factor = number(x[(i < left.lines ? i : 0) * left.line_stride + s * x_apart]);
#pragma unroll
      for (int e = 0; e < Count; ++e) sum[i * Count + e] += factor * pieces[s].at(e);
    }
}

/// The same of a right side whose columns lie side by side, in whole pieces of `Count`: `Across` threads take
/// a piece each of a row of it, and the others of the block other depths.
template <int Rows, int Across, int Count, class T, class Store>
GPU_INLINE void multiply_rows_across(const Matrix<T>& left, const Matrix<T>& right, Store store) {
  constexpr int sharers = across_product_threads / Across, teams = across_product_threads / row_product_lanes;
  constexpr int width = Across * Count, values = Rows * Count, steps = values > 16 ? 4 : 8;
  const int lane = int(threadIdx.x) % row_product_lanes, place = int(threadIdx.x) % Across * Count;
  const Int first_column = Int(blockIdx.x) * width;
  float sum[values] = {};
  int k = int(threadIdx.x) / Across;
  const T* x = left.data + k * left.depth_stride;
  const T* w =
      right.data + (first_column + place < right.lines ? first_column + place : 0) + k * right.depth_stride;
  const Int x_apart = sharers * left.depth_stride, w_apart = sharers * right.depth_stride;
  for (; k + (steps - 1) * sharers < left.depths; k += steps * sharers) {
    add_across<steps, Rows, Count>(left, x, w, x_apart, w_apart, sum);
    x += steps * x_apart;
    w += steps * w_apart;
  }
  for (; k < left.depths; k += sharers) {
    add_across<1, Rows, Count>(left, x, w, x_apart, w_apart, sum);
    x += x_apart;
    w += w_apart;
  }
  const SharedSums<Across, values> mine(sum, lane);
  GPU_SHARED(float, part, [teams][Rows * width]);
#pragma unroll
  for (int i = 0; i < mine.count; ++i) {
    const int number = mine.first + i;
    if (!mine.is_spare)
      part[int(threadIdx.x) / row_product_lanes][number / Count * width + place + number % Count] = sum[i];
  }
  __syncthreads();
  for (int at = int(threadIdx.x); at < Rows * width; at += across_product_threads) {
    float value = part[0][at];
    for (int team = 1; team < teams; ++team) value += part[team][at];
    const Int row = at / width, column = first_column + at % width;
    if (row < left.lines && column < right.lines) store(Pieces<float, 1>::of(row, column, value));
  }
}

}  // namespace tenon::gpu
