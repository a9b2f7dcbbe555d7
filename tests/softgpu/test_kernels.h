// The kernels of the tests, right and wrong ones.
#pragma once

namespace softgpu {

inline constexpr char kKernels[] = R"(#include "emulation.h"

extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

// shuffles, shared memory, a barrier and an atomic
extern "C" __global__ void __launch_bounds__(256) sum(const float* x, float* out, int n) {
  GPU_SHARED(float, part, [1024 / warpSize]);
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  for (int m = warpSize / 2; m > 0; m >>= 1) s += __shfl_xor(s, m);
  if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = s;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned i = 1; i < blockDim.x / warpSize; i++) s += part[i];
  atomicAdd(out, s);
}

extern "C" __global__ void wave_size(int* out) { *out = warpSize; }
extern "C" __global__ void increase(float* x, float by) { x[blockIdx.x * blockDim.x + threadIdx.x] += by; }
namespace outer {
struct Brace { static constexpr char open = '{', quote = '"'; };
namespace inner::innermost {
constexpr int kMost = 64;
extern "C" __global__ void __launch_bounds__(kMost * 2, 1) nothing() {}
}
}
__global__ void with_cpp_linkage(float* x) { *x = 1; }
template <class T, int FACTOR>
__global__ void scale(T* x) { x[threadIdx.x] *= FACTOR; }

__device__ float factors[4] = {1, 2, 3, 4};
extern "C" __global__ void multiply(float* x) { x[threadIdx.x] *= factors[threadIdx.x % 4]; }

// 256 floats through shared memory, copied while the thread goes on
template <bool WAITS>
__device__ void reverse(const float* x, float* y) {
  GPU_SHARED(float, tile, [256]);
  if (threadIdx.x < 64) gpu_copy_async16(&tile[threadIdx.x * 4], &x[threadIdx.x * 4]);
  gpu_copy_async_commit();
  if (WAITS) gpu_copy_async_wait<0>();
  __syncthreads();
  y[threadIdx.x] = tile[255 - threadIdx.x];
}
extern "C" __global__ void reverse_async(const float* x, float* y) { reverse<true>(x, y); }
extern "C" __global__ void reverse_without_wait(const float* x, float* y) { reverse<false>(x, y); }

extern "C" __global__ void divergent_barrier(float* x) {
  if (threadIdx.x < 40) __syncthreads();
  x[threadIdx.x] = 1;
  __syncthreads();
}

extern "C" __global__ void divergent_shuffle(float* x) {
  if (threadIdx.x % 2) x[threadIdx.x] = __shfl_xor(x[threadIdx.x], 1);
  else __syncthreads();
}

extern "C" __global__ void too_much_shared(float* x) {
  GPU_SHARED(float, tile, [60000]);
  tile[threadIdx.x] = 1;
  x[threadIdx.x] = tile[threadIdx.x];
}
)";

}  // namespace softgpu
