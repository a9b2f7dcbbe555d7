// Products of a few rows, whose time is that of reading the right side: each wave multiplies the rows by some
// columns that it reads once, up to 16 bytes at a time, straight to registers.
#pragma once
#include "kernels/gpu/coded_side.gpu.h"
#include "kernels/gpu/loop_walks.gpu.h"

namespace tenon::gpu {

constexpr int row_product_threads = 256;

/// Adds what `Count` depths from k on give.
template <int Count, int Rows, int Columns, class T, class U>
GPU_INLINE void add_depths(const Matrix<T>& left, const Matrix<U>& right, Int first_column, int k,
                           float (&sum)[Rows][Columns]) {
  float x[Rows][Count];
#pragma unroll
  for (int i = 0; i < Rows; ++i) read_floats(left, i, k, x[i]);
#pragma unroll
  for (int j = 0; j < Columns; ++j) {
    float w[Count];
    read_floats(right, first_column + j, k, w);
#pragma unroll
    for (int i = 0; i < Rows; ++i)
      for (int e = 0; e < Count; ++e) sum[i][j] += x[i][e] * w[e];
  }
}

/// The codes of all columns are read first, then the left side 16 bytes at a time.
template <int Count, int Rows, int Columns, class T, class Code, bool HasZeros>
GPU_INLINE void add_depths(const Matrix<T>& left, const CodedMatrix<Code, HasZeros>& right, Int first_column,
                           int k, float (&sum)[Rows][Columns]) {
  CodedPiece<Code, Count> pieces[Columns];
#pragma unroll
  for (int j = 0; j < Columns; ++j) pieces[j] = right.template piece<Count>(first_column + j, k);
  constexpr int part = 16 / int(sizeof(T));
#pragma unroll
  for (int first = 0; first < Count; first += part) {
    float x[Rows][part];
#pragma unroll
    for (int i = 0; i < Rows; ++i) read_floats(left, i, k + first, x[i]);
#pragma unroll
    for (int j = 0; j < Columns; ++j)
#pragma unroll
      for (int e = 0; e < part; ++e) {
        const float w = pieces[j].at(first + e);
        for (int i = 0; i < Rows; ++i) sum[i][j] += x[i][e] * w;
      }
  }
}

/// Calls store(pieces) for all rows (at most Rows) and the block's columns: 32 that its waves
/// divide, or 4 for which they share the depth.
template <int Rows, bool Shared, int Count, class T, class Right, class Store>
GPU_INLINE void multiply_rows(const Matrix<T>& left, const Right& right, Store store) {
  constexpr int waves = row_product_threads / wave_size, Columns = Shared ? 4 : 32 / waves;
  const int wave = int(threadIdx.x) / wave_size, lane = int(threadIdx.x) % wave_size;
  const Int first_column = (Shared ? Int(blockIdx.x) : Int(blockIdx.x) * waves + wave) * Columns;
  const int first = (Shared ? int(threadIdx.x) : lane) * Count;
  constexpr int step = (Shared ? row_product_threads : wave_size) * Count;
  constexpr int at_once = Count < 16 ? 2 : 1;
  float sum[Rows][Columns] = {};
#pragma unroll at_once
  for (int k = first; k < left.depths; k += step) add_depths<Count>(left, right, first_column, k, sum);
  GPU_SHARED(float, part, [waves][Rows * Columns]);
#pragma unroll
  for (int i = 0; i < Rows; ++i)
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      for (int mask = wave_size / 2; mask > 0; mask /= 2) sum[i][j] += shuffle_xor(sum[i][j], mask);
      if (lane == 0) part[wave][i * Columns + j] = sum[i][j];
    }
  if (Shared)
    __syncthreads();
  else
    wave_barrier();
  const int at = Shared ? int(threadIdx.x) : lane;
  if (at >= Rows * Columns) return;
  float value = part[Shared ? 0 : wave][at];
  if (Shared)
    for (int other = 1; other < waves; ++other) value += part[other][at];
  const Int row = at / Columns, column = first_column + at % Columns;
  if (row < left.lines && column < right.lines) store(Pieces<float, 1>::of(row, column, value));
}

}  // namespace tenon::gpu
