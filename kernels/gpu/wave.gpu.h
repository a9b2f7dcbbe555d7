// What the lanes of a wave and the threads of a block do together: votes, shuffles, prefix sums. Blocks have
// one dimension.
#pragma once
#include "kernels/gpu/loop_values.gpu.h"

namespace tenon::gpu {

#if GPU_CUDA
using LaneSet = unsigned;
#else
using LaneSet = unsigned long long;
#endif

GPU_INLINE int lane_of_thread() { return int(threadIdx.x) % wave_size; }
GPU_INLINE int wave_of_thread() { return int(threadIdx.x) / wave_size; }

/// The lanes for which it holds.
GPU_INLINE LaneSet vote(bool holds) {
#if GPU_CUDA
  return __ballot_sync(0xffffffffu, holds);
#else
  return __ballot(holds);
#endif
}
GPU_INLINE int count_of(LaneSet lanes) {
#if GPU_CUDA
  return __popc(lanes);
#else
  return __builtin_popcountll(lanes);
#endif
}
GPU_INLINE LaneSet lanes_before(int lane) { return (LaneSet(1) << lane) - 1; }

/// Folds what the lanes up to and with each one have, the first of them first.
template <class Acc, class Combine>
GPU_INLINE Acc scan_wave(Acc acc, Combine combine) {
  const int lane = lane_of_thread();
#pragma unroll
  for (int step = 1; step < wave_size; step *= 2) {
    const Acc before = shuffle(acc, lane >= step ? lane - step : lane);
    if (lane >= step) acc = combine(before, acc);
  }
  return acc;
}

/// The same for all threads of a block. `total` is the fold of all. `part` holds one value a wave, and is
/// free again afterwards.
template <int Threads, class Acc, class Combine>
GPU_INLINE Acc scan_block(Acc acc, Acc& total, Acc* part, Combine combine) {
  constexpr int waves = Threads / wave_size;
  acc = scan_wave(acc, combine);
  if (lane_of_thread() == wave_size - 1) part[wave_of_thread()] = acc;
  __syncthreads();
  const int wave = wave_of_thread();
  Acc before = part[0];
  total = part[0];
#pragma unroll
  for (int other = 1; other < waves; ++other) {
    if (other < wave) before = combine(before, part[other]);
    total = combine(total, part[other]);
  }
  if (wave > 0) acc = combine(before, acc);
  __syncthreads();
  return acc;
}

}  // namespace tenon::gpu
