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
#if __has_builtin(__builtin_readsteadycounter)
  return of_tick * __builtin_readsteadycounter();
#else  // clang before 19
  return of_tick * wall_clock64();
#endif
#else
  static unsigned long long now = 0;
  return __atomic_add_fetch(&now, 1000, __ATOMIC_RELAXED);
#endif
}

GPU_INLINE void hold_for(long long time) {
  const unsigned long long begin = nanoseconds();
  while (static_cast<long long>(nanoseconds() - begin) < time) {}
}

}  // namespace tenon::gpu
