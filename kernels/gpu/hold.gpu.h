// Time on a device: keeps a stream busy while the host enqueues what comes behind.
#pragma once
#include "kernels/gpu/prelude.gpu.h"

namespace tenon::gpu {

/// Of the device's clock.
GPU_INLINE unsigned long long nanoseconds() {
#if GPU_CUDA
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#elif GPU_HIP
  constexpr unsigned long long of_tick = 10;  // 100 MHz on every device of AMD
  return of_tick * __builtin_readsteadycounter();
#else
  static unsigned long long now = 0;
  return now += 1000;
#endif
}

GPU_INLINE void hold_for(long long time) {
  const unsigned long long begin = nanoseconds();
  while (static_cast<long long>(nanoseconds() - begin) < time) {}
}

}  // namespace tenon::gpu
