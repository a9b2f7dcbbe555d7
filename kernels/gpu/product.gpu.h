// Products of matrices, and convolutions as products: a block of 256 threads computes a tile of the result, each
// thread 4 columns of rows_of_tile / 16 of its rows.
#pragma once
#include "kernels/gpu/loop_walks.gpu.h"

namespace tenon::gpu {

constexpr int tile_columns = 64, tile_depth = 16, product_threads = 256;

/// A matrix in memory; 0 beyond its ends.
template <class T>
struct Matrix {
  const T* data;
  Int rows, columns, row_stride, column_stride;

  struct Line {  // a row of a left side, a column of a right one
    Int offset;
    bool inside;
  };
  GPU_INLINE Line row(Int i) const { return {i * row_stride, i < rows}; }
  GPU_INLINE Line column(Int j) const { return {j * column_stride, j < columns}; }
  GPU_INLINE float in_row(Line line, Int k) const {
    return line.inside && k < columns ? convert<float>(data[line.offset + k * column_stride]) : 0.0f;
  }
  GPU_INLINE float in_column(Line line, Int k) const {
    return line.inside && k < rows ? convert<float>(data[line.offset + k * row_stride]) : 0.0f;
  }
};

/// One spatial axis of a convolution.
struct ConvAxis {
  Int in, out, kernel, stride, pad, dilation, x_stride;
};

/// The input of a convolution as a matrix: a row for each pixel of the result, a column for each tap of the
/// window and each channel of the group, the channel moving fastest.
template <class T, bool Transposed>
struct Windows {
  const T* data;
  Int pixels, channels, image_stride, channel_stride;
  ConvAxis d, h, w;

  struct Line {
    Int image;
    Int d, h, w;  // of the window's first tap, before it is divided by the stride where transposed
    bool inside;
  };

  static GPU_INLINE Int first_tap(const ConvAxis& axis, Int out) {
    return Transposed ? out + axis.pad : out * axis.stride - axis.pad;
  }
  /// The place of a tap on an axis; -1 where there is none.
  static GPU_INLINE Int place(const ConvAxis& axis, Int first, Int tap) {
    Int at = Transposed ? first - tap * axis.dilation : first + tap * axis.dilation;
    if (at < 0) return -1;
    if (Transposed) {
      if (at % axis.stride != 0) return -1;
      at /= axis.stride;
    }
    return at < axis.in ? at : -1;
  }

  GPU_INLINE Line row(Int pixel) const {
    const Int out_w = pixel % w.out, rest = pixel / w.out;
    const Int out_h = rest % h.out, rest_of_h = rest / h.out;
    const Int out_d = rest_of_h % d.out, image = rest_of_h / d.out;
    return {image * image_stride, first_tap(d, out_d), first_tap(h, out_h), first_tap(w, out_w), pixel < pixels};
  }
  GPU_INLINE float in_row(Line line, Int k) const {
    if (!line.inside) return 0;
    const Int channel = k % channels, tap = k / channels;
    const Int tap_w = tap % w.kernel, rest = tap / w.kernel;
    const Int tap_h = rest % h.kernel, tap_d = rest / h.kernel;
    if (tap_d >= d.kernel) return 0;
    const Int at_d = place(d, line.d, tap_d), at_h = place(h, line.h, tap_h), at_w = place(w, line.w, tap_w);
    if (at_d < 0 || at_h < 0 || at_w < 0) return 0;
    return convert<float>(data[line.image + channel * channel_stride + at_d * d.x_stride + at_h * h.x_stride +
                               at_w * w.x_stride]);
  }
};

/// Adds the products of the tile at (first_row, first_column) to `sum`: of row i * 16 + y and column x * 4 + j of
/// the tile, for thread (x, y) of 16 x 16.
template <int Rows, class Left, class Right>
GPU_INLINE void multiply_tile(const Left& left, const Right& right, Int first_row, Int first_column, Int depth,
                              float (&sum)[Rows / 16][4]) {
  constexpr int reads = Rows * tile_depth / product_threads, right_rows = product_threads / tile_columns;
  GPU_SHARED(float, a, [tile_depth][Rows + 1]);
  GPU_SHARED(float, b, [tile_depth][tile_columns]);
  const int t = threadIdx.x, x = t % 16, y = t / 16;
  typename Left::Line rows[reads];
  for (int i = 0; i < reads; ++i) rows[i] = left.row(first_row + (t + i * product_threads) / tile_depth);
  const typename Right::Line column = right.column(first_column + t % tile_columns);
  for (Int k0 = 0; k0 < depth; k0 += tile_depth) {
    for (int i = 0; i < reads; ++i)
      a[t % tile_depth][(t + i * product_threads) / tile_depth] = left.in_row(rows[i], k0 + t % tile_depth);
    for (int k = t / tile_columns; k < tile_depth; k += right_rows)
      b[k][t % tile_columns] = right.in_column(column, k0 + k);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile_depth; ++k)
      for (int i = 0; i < Rows / 16; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] += a[k][i * 16 + y] * b[k][x * 4 + j];
    __syncthreads();
  }
}

/// Calls store(row, column, value) for each element that the thread computed of a result [rows, columns].
template <int Rows, class Store>
GPU_INLINE void store_tile(const float (&sum)[Rows / 16][4], Int first_row, Int first_column, Int rows,
                           Int columns, Store store) {
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  for (int i = 0; i < Rows / 16; ++i) {
    const Int row = first_row + i * 16 + y;
    if (row >= rows) return;
    for (int j = 0; j < 4; ++j) {
      const Int column = first_column + x * 4 + j;
      if (column < columns) store(row, column, sum[i][j]);
    }
  }
}

}  // namespace tenon::gpu
