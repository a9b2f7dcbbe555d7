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

}  // namespace tenon::gpu
