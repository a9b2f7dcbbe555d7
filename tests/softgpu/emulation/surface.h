// The names that CUDA and HIP give a kernel, by the emulation.
#pragma once
#include <cmath>
#include <cstring>

#include "launch.h"
#include "warp.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#if GPU_SERIAL
#define __shared__ static  // AddressSanitizer guards a plain static; there is one system thread
#else
#define __shared__ static thread_local  // one for each system thread, that is for each running block
#endif
/// GPU_SHARED(float, tile, [16][17]); is __shared__ float tile[16][17]; that is NaN for every block, counts
/// against GPU_CPU_SHMEM and has guards under AddressSanitizer. Plain __shared__ works without these.
#define GPU_SHARED(T, name, dims) T(&name) dims = gpusim::shared_var<T dims>([] {})
#define threadIdx (gpusim::thread_index())
#define blockIdx (gpusim::block_index())
#define blockDim (gpusim::block_size())
#define gridDim (gpusim::grid_size())
#define GPU_SITE const char *file_ = __builtin_FILE(), int line_ = __builtin_LINE()
/// extern "C" KERNEL__launch(grid, block, dynamic bytes, argument pointers), for a caller that has the
/// library's handle.
#define GPU_CPU_EXPORT(kernel)                                                                            \
  extern "C" void kernel##__launch(const dim3* grid, const dim3* block, size_t bytes, void** arguments) { \
    gpusim::launch_ptr(kernel, *grid, *block, bytes, arguments);                                          \
  }

inline constexpr int warpSize = gpusim::kWarp;
inline constexpr uint64_t kGpuAllLanes = ~0ull;

inline void __syncthreads(GPU_SITE) { gpusim::barrier({file_, line_}); }
inline void __syncwarp(uint64_t mask = kGpuAllLanes, GPU_SITE) {
  gpusim::collective(mask, nullptr, nullptr, "__syncwarp", {file_, line_}, true);
}

// A shuffle stays within `width` lanes, a power of two; a lane whose source lies outside keeps its own value.
template <class T>
T __shfl_sync(uint64_t mask, T value, int source, int width = warpSize, GPU_SITE) {
  const int first = gpusim::lane() & ~(width - 1);
  return gpusim::shuffle(mask, value, first | (source & (width - 1)), {file_, line_});
}
template <class T>
T __shfl_xor_sync(uint64_t mask, T value, int bits, int width = warpSize, GPU_SITE) {
  const int lane = gpusim::lane(), source = lane ^ bits;
  const bool above = (source & ~(width - 1)) > (lane & ~(width - 1));
  return gpusim::shuffle(mask, value, above ? lane : source, {file_, line_});
}
template <class T>
T __shfl_down_sync(uint64_t mask, T value, unsigned delta, int width = warpSize, GPU_SITE) {
  const int lane = gpusim::lane(), source = lane + int(delta);
  const bool outside = (source & ~(width - 1)) != (lane & ~(width - 1));
  return gpusim::shuffle(mask, value, outside ? lane : source, {file_, line_});
}
template <class T>
T __shfl_up_sync(uint64_t mask, T value, unsigned delta, int width = warpSize, GPU_SITE) {
  const int lane = gpusim::lane();
  const bool outside = (lane & (width - 1)) < int(delta);
  return gpusim::shuffle(mask, value, outside ? lane : lane - int(delta), {file_, line_});
}
template <class T>
T __shfl(T value, int source, int width = warpSize, GPU_SITE) {
  return __shfl_sync(kGpuAllLanes, value, source, width, file_, line_);
}
template <class T>
T __shfl_xor(T value, int bits, int width = warpSize, GPU_SITE) {
  return __shfl_xor_sync(kGpuAllLanes, value, bits, width, file_, line_);
}
template <class T>
T __shfl_down(T value, unsigned delta, int width = warpSize, GPU_SITE) {
  return __shfl_down_sync(kGpuAllLanes, value, delta, width, file_, line_);
}
template <class T>
T __shfl_up(T value, unsigned delta, int width = warpSize, GPU_SITE) {
  return __shfl_up_sync(kGpuAllLanes, value, delta, width, file_, line_);
}
inline uint64_t __ballot_sync(uint64_t mask, bool vote, GPU_SITE) {
  return gpusim::ballot(mask, vote, {file_, line_});
}
inline uint64_t __ballot(bool vote, GPU_SITE) { return gpusim::ballot(kGpuAllLanes, vote, {file_, line_}); }
inline bool __any_sync(uint64_t mask, bool vote, GPU_SITE) {
  return gpusim::ballot(mask, vote, {file_, line_}) != 0;
}
inline bool __all_sync(uint64_t mask, bool vote, GPU_SITE) {
  return gpusim::ballot(mask, !vote, {file_, line_}) == 0;
}

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
inline float2 make_float2(float a, float b) { return {a, b}; }
inline float4 make_float4(float a, float b, float c, float d) { return {a, b, c, d}; }
inline uint4 make_uint4(unsigned a, unsigned b, unsigned c, unsigned d) { return {a, b, c, d}; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
template <class T>
T __ldg(const T* p) {
  return *p;
}
