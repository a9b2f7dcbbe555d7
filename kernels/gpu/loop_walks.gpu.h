// How the threads of a loop share its rows and read and write their elements.
#pragma once
#include "kernels/gpu/loop_values.gpu.h"

namespace tenon::gpu {

/// Gives each of `Lanes` neighbours (a power of two, at most a wave) what all of them folded.
template <class Fold, int Lanes>
GPU_INLINE typename Fold::Acc over_lanes(typename Fold::Acc acc) {
#pragma unroll
  for (int mask = Lanes / 2; mask > 0; mask /= 2) acc = Fold::combine(acc, shuffle_xor(acc, mask));
  return acc;
}

/// The same for all threads of a block: waves by shuffles, then one accumulator of each wave in `part`, which
/// is free again afterwards.
template <class Fold, int Threads>
GPU_INLINE typename Fold::Acc over_block(typename Fold::Acc acc, void* shared) {
  auto* const part = static_cast<typename Fold::Acc*>(shared);
  acc = over_lanes<Fold, wave_size>(acc);
  if (threadIdx.x % wave_size == 0) part[threadIdx.x / wave_size] = acc;
  __syncthreads();
  acc = part[0];
#pragma unroll 4
  for (int wave = 1; wave < Threads / wave_size; ++wave) acc = Fold::combine(acc, part[wave]);
  __syncthreads();
  return acc;
}

/// The same for the threads of a block whose numbers are equal modulo `Columns`.
template <class Fold, int Threads, int Columns>
GPU_INLINE typename Fold::Acc over_columns(typename Fold::Acc acc, void* shared) {
  auto* const part = static_cast<typename Fold::Acc*>(shared);
  constexpr int line = Columns < wave_size ? wave_size : Columns;  // threads that hold each column once
#pragma unroll
  for (int mask = Columns; mask < wave_size; mask *= 2) acc = Fold::combine(acc, shuffle_xor(acc, mask));
  const int column = int(threadIdx.x) % Columns;
  if (int(threadIdx.x) % line < Columns) part[int(threadIdx.x) / line * Columns + column] = acc;
  __syncthreads();
  acc = part[column];
#pragma unroll 4
  for (int other = 1; other < Threads / line; ++other)
    acc = Fold::combine(acc, part[other * Columns + column]);
  __syncthreads();
  return acc;
}

/// Numbers of 16 bits.
template <class T, int Count>
struct Narrowed {
  T elements[Count];
};
template <class T, int Count>
GPU_INLINE Narrowed<T, Count> narrowed(const float (&from)[Count]) {
  Narrowed<T, Count> to;
#pragma unroll
  for (int v = 0; v < Count; v += 2) to_pair(from[v], from[v + 1], to.elements + v);
  return to;
}

// `Count` elements of which the first `valid` exist: in pieces where `pieces` says that they are aligned.

template <int Count, class T>
GPU_INLINE void read(const T* from, bool pieces, int valid, T (&to)[Count]) {
  if (pieces && valid == Count) return read_pieces(from, to);
#pragma unroll
  for (int v = 0; v < Count; ++v) to[v] = v < valid ? from[v] : T{};
}
template <int Count, class T, class Index>
GPU_INLINE void read_strided(const T* from, Index stride, int valid, T (&to)[Count]) {
#pragma unroll
  for (int v = 0; v < Count; ++v) to[v] = v < valid ? from[v * stride] : T{};
}
template <int Count, class T>
GPU_INLINE void write(T* to, bool pieces, int valid, const T (&from)[Count]) {
  if (pieces && valid == Count) return write_whole_pieces(to, from);
#pragma unroll
  for (int v = 0; v < Count; ++v)
    if (v < valid) to[v] = from[v];
}
template <int Count, class T, class Index>
GPU_INLINE void write_strided(T* to, Index stride, int valid, const T (&from)[Count]) {
#pragma unroll
  for (int v = 0; v < Count; ++v)
    if (v < valid) to[v * stride] = from[v];
}

/// What an anchor hands to its epilogue at once: pieces of rows of its result, and how many elements of each
/// exist.
template <class T, int Chunks, int Vector>
struct TilePieces {
  static constexpr int vector = Vector;
  Int row[Chunks], column[Chunks];
  int valid[Chunks];
  T value[Chunks][Vector];

  GPU_INLINE TilePieces moved(Int rows, Int columns) const {
    TilePieces to = *this;
#pragma unroll
    for (int i = 0; i < Chunks; ++i) {
      to.row[i] += rows;
      to.column[i] += columns;
    }
    return to;
  }
  template <class To>
  GPU_INLINE TilePieces<To, Chunks, Vector> as() const {
    TilePieces<To, Chunks, Vector> to;
#pragma unroll
    for (int i = 0; i < Chunks; ++i) {
      to.row[i] = row[i];
      to.column[i] = column[i];
      to.valid[i] = valid[i];
#pragma unroll
      for (int v = 0; v < Vector; ++v) to.value[i][v] = static_cast<To>(value[i][v]);
    }
    return to;
  }
  /// One element.
  static GPU_INLINE TilePieces of(Int row, Int column, T value) {
    TilePieces only = {};
    only.row[0] = row;
    only.column[0] = column;
    only.valid[0] = 1;
    only.value[0][0] = value;
    return only;
  }
};

/// With pieces as tile_form (loop_source.h) has them.
template <class T, int Chunks>
using Pieces = TilePieces<T, Chunks, 4>;

/// The result of a transposed convolution whose windows lie side by side (Product::Taps).
struct Taps {
  Int channels, in[3], kernel[3];

  /// Pieces of [pixels of the input, taps and channels] as those of [pixels, channels].
  template <class T, int Chunks>
  GPU_INLINE Pieces<T, Chunks> of_pixels(const Pieces<T, Chunks>& of) const {
    Pieces<T, Chunks> to = of;
#pragma unroll
    for (int i = 0; i < Chunks; ++i) {
      unsigned pixel = unsigned(of.row[i]), tap = unsigned(of.column[i]) / unsigned(channels);
      to.column[i] = of.column[i] - Int(tap) * channels;
      Int place[3];
#pragma unroll
      for (int axis = 2; axis >= 0; --axis) {
        const unsigned size = unsigned(in[axis]), taps = unsigned(kernel[axis]);
        place[axis] = Int(pixel % size * taps + tap % taps);
        pixel /= size;
        tap /= taps;
      }
      to.row[i] =
          ((Int(pixel) * in[0] * kernel[0] + place[0]) * in[1] * kernel[1] + place[1]) * in[2] * kernel[2] +
          place[2];
    }
    return to;
  }
};

}  // namespace tenon::gpu
