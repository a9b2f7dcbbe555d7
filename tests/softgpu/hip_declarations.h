// What hipRTC declares of the device's side, as far as our kernels use it: for clang without HIP's headers.
#pragma once
#define __HIPCC_RTC__ 1
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))

#define HIP_COORDINATE(axis, value)                        \
  struct {                                                 \
    __device__ operator unsigned() const { return value; } \
  } axis;
struct ThreadIndex {
  HIP_COORDINATE(x, __builtin_amdgcn_workitem_id_x())
};
struct BlockIndex {
  HIP_COORDINATE(x, __builtin_amdgcn_workgroup_id_x())
  HIP_COORDINATE(y, __builtin_amdgcn_workgroup_id_y())
  HIP_COORDINATE(z, __builtin_amdgcn_workgroup_id_z())
};
struct BlockSize {
  HIP_COORDINATE(x, __builtin_amdgcn_workgroup_size_x())
};
struct GridSize {
  HIP_COORDINATE(x, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x())
};
static __device__ const ThreadIndex threadIdx{};
static __device__ const BlockIndex blockIdx{};
static __device__ const BlockSize blockDim{};
static __device__ const GridSize gridDim{};

static __device__ __forceinline__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
static __device__ __forceinline__ int __shfl_xor(int value, int mask) {
  const int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
  return __builtin_amdgcn_ds_bpermute((lane ^ mask) << 2, value);
}
static __device__ __forceinline__ int __shfl(int value, int lane) {
  return __builtin_amdgcn_ds_bpermute(lane << 2, value);
}
static __device__ __forceinline__ unsigned long long __ballot(int vote) {
  return __builtin_amdgcn_uicmp(vote, 0, 33);  // not equal
}
static __device__ __forceinline__ unsigned atomicAdd(unsigned* at, unsigned value) {
  return __hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
static __device__ __forceinline__ unsigned atomicInc(unsigned* at, unsigned last) {
  return __builtin_amdgcn_atomic_inc32(at, last, __ATOMIC_RELAXED, "agent");
}
static __device__ __forceinline__ unsigned long long atomicCAS(unsigned long long* at,
                                                               unsigned long long expected,
                                                               unsigned long long wanted) {
  __hip_atomic_compare_exchange_strong(at, &expected, wanted, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};

// The library of the device (ROCm's ocml).
#define HIP_FUNCTION(name)                                                                 \
  extern "C" __device__ float __ocml_##name##_f32(float);                                  \
  extern "C" __device__ double __ocml_##name##_f64(double);                                \
  static __device__ __forceinline__ float name(float x) { return __ocml_##name##_f32(x); } \
  static __device__ __forceinline__ double name(double x) { return __ocml_##name##_f64(x); }
#define HIP_FUNCTION_OF_TWO(name)                                                                      \
  extern "C" __device__ float __ocml_##name##_f32(float, float);                                       \
  extern "C" __device__ double __ocml_##name##_f64(double, double);                                    \
  static __device__ __forceinline__ float name(float x, float y) { return __ocml_##name##_f32(x, y); } \
  static __device__ __forceinline__ double name(double x, double y) { return __ocml_##name##_f64(x, y); }
#define HIP_TEST(name)                                                                 \
  static __device__ __forceinline__ bool name(float x) { return __builtin_##name(x); } \
  static __device__ __forceinline__ bool name(double x) { return __builtin_##name(x); }
// clang-format off
HIP_FUNCTION(acos) HIP_FUNCTION(acosh) HIP_FUNCTION(asin) HIP_FUNCTION(asinh) HIP_FUNCTION(atan) HIP_FUNCTION(atanh)
HIP_FUNCTION(ceil) HIP_FUNCTION(cos) HIP_FUNCTION(cosh) HIP_FUNCTION(erf) HIP_FUNCTION(erfc) HIP_FUNCTION(exp)
HIP_FUNCTION(exp2) HIP_FUNCTION(expm1) HIP_FUNCTION(fabs) HIP_FUNCTION(floor) HIP_FUNCTION(lgamma) HIP_FUNCTION(log)
HIP_FUNCTION(log10) HIP_FUNCTION(log1p) HIP_FUNCTION(log2) HIP_FUNCTION(nearbyint) HIP_FUNCTION(sin) HIP_FUNCTION(sinh)
HIP_FUNCTION(sqrt) HIP_FUNCTION(tan) HIP_FUNCTION(tanh) HIP_FUNCTION(trunc)
HIP_FUNCTION_OF_TWO(atan2) HIP_FUNCTION_OF_TWO(copysign) HIP_FUNCTION_OF_TWO(fmax) HIP_FUNCTION_OF_TWO(fmin)
HIP_FUNCTION_OF_TWO(fmod) HIP_FUNCTION_OF_TWO(hypot) HIP_FUNCTION_OF_TWO(nextafter) HIP_FUNCTION_OF_TWO(pow)
extern "C" __device__ double __ocml_ldexp_f64(double, int);
extern "C" __device__ int __ocml_ilogb_f64(double);
static __device__ __forceinline__ double ldexp(double x, int exponent) { return __ocml_ldexp_f64(x, exponent); }
static __device__ __forceinline__ int ilogb(double x) { return __ocml_ilogb_f64(x); }
HIP_FUNCTION(j0) HIP_FUNCTION(j1) HIP_FUNCTION(y0) HIP_FUNCTION(y1)
HIP_TEST(isnan) HIP_TEST(isinf) HIP_TEST(isfinite) HIP_TEST(signbit)
    // clang-format on
