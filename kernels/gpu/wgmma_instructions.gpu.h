// The matrix instructions of a warpgroup, four waves of an NVIDIA GPU of compute capability 9.0, each with
// its emulation beside it. Operands lie in shared memory, the left one may lie in registers; these and the
// sums, which are registers, belong to the unit until they were waited for. All threads of the warpgroup take
// part. Source: PTX ISA 9.0, section 9.7.15.
#pragma once
#include "kernels/gpu/matrix_instructions.gpu.h"

namespace tenon::gpu {

#if GPU_WGMMA

constexpr int warpgroup_size = 128;

/// Copies that arrived in shared memory, and what the thread wrote there, are seen by the matrix unit behind
/// a barrier.
GPU_INLINE void fence_for_units() {
#if GPU_SOFT
  gpu_fence_proxy_async();
#else
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
/// Writes 16 bytes to shared memory that the matrix unit reads: behind a fence_for_units() of this thread,
/// and a barrier.
GPU_INLINE void write_for_units(void* to, const float (&from)[4]) {
#if GPU_SOFT
  gpu_write_for_units(to, from);
#else
  write_pieces(static_cast<float*>(to), from);
#endif
}
/// What was done with the sums is done before the products that follow.
GPU_INLINE void fence_sums() {
#if GPU_SOFT
  gpu_wgmma_fence();
#else
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
/// Closes the group of the products since the last commit.
GPU_INLINE void commit_products() {
#if GPU_SOFT
  gpu_wgmma_commit();
#else
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
/// Until all but the last `Pending` groups are done: they read no shared memory any more.
template <int Pending>
GPU_INLINE void wait_for_products() {
#if GPU_SOFT
  gpu_wgmma_wait<Pending>();
#else
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
#endif
}
/// The compiler moves no use of the sums across this.
template <int Units>
GPU_INLINE void keep_sums_apart([[maybe_unused]] float (&sum)[Units][4]) {
#if !GPU_SOFT
#pragma unroll
  for (int j = 0; j < Units; ++j)
#pragma unroll
    for (int v = 0; v < 4; ++v) asm volatile("" : "+f"(sum[j][v])::"memory");
#endif
}

/// The same of a left side: it is the unit's, too, from before fence_sums() until it was waited for.
GPU_INLINE void keep_left_apart([[maybe_unused]] unsigned (&left)[4]) {
#if !GPU_SOFT
#pragma unroll
  for (int i = 0; i < 4; ++i) asm volatile("" : "+r"(left[i])::"memory");
#endif
}

/// A matrix in shared memory, in patterns of 1024 bytes whose rows of 128 bytes are swizzled. leading: bytes
/// from 64 lines to the next 64 where lines lie side by side; stride: bytes from a pattern to the next.
GPU_INLINE unsigned long long matrix_descriptor(const void* begin, int leading, int stride) {
  constexpr unsigned long long swizzled_by_128_bytes = 1ull << 62;
#if GPU_SOFT
  const unsigned address = gpu_shared_address(begin);
#else
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(begin));
#endif
  const auto field = [](unsigned bytes) { return static_cast<unsigned long long>((bytes & 0x3ffffu) >> 4); };
  return field(address) | field(leading) << 16 | field(stride) << 32 | swizzled_by_128_bytes;
}

// wgmma.mma_async m64nNk16 of 16 bits: adds left [64, 16] x right [16, N]. Across: a side whose lines lie
// side by side. Wave w of the warpgroup has rows 16 w to 16 w + 15, and of those a lane has sums as
// mma.m16n8k16 gives them, for each 8 columns.
#if GPU_SOFT
#define WGMMA(name, type, columns, registers, places, operands)                                          \
  template <bool LeftAcross, bool RightAcross>                                                           \
  GPU_INLINE void name(float(&sum)[columns / 8][4], unsigned long long left, unsigned long long right) { \
    gpu_##name<columns>(sum[0], left, right, LeftAcross, RightAcross);                                   \
  }
#else
#define WGMMA(name, type, columns, registers, places, operands)                                           \
  template <bool LeftAcross, bool RightAcross>                                                            \
  GPU_INLINE void name(float(&sum)[columns / 8][4], unsigned long long left, unsigned long long right) {  \
    asm volatile(                                                                                         \
        "{ .reg .pred adds; setp.eq.u32 adds, 0, 0;\n"                                                    \
        "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type " {" registers "}, " places \
        "; }"                                                                                             \
        : operands                                                                                        \
        : "l"(left), "l"(right), "n"(int(LeftAcross)), "n"(int(RightAcross)));                            \
  }
#define WGMMA_4(j) "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
#define WGMMA_16(j) WGMMA_4(j), WGMMA_4(j + 1), WGMMA_4(j + 2), WGMMA_4(j + 3)
#define WGMMA_32(j) WGMMA_16(j), WGMMA_16(j + 4)
#define WGMMA_64(j) WGMMA_32(j), WGMMA_32(j + 8)
#define WGMMA_128(j) WGMMA_64(j), WGMMA_64(j + 16)
#endif

// wgmma.mma_async m64nNk8 of tf32: left [64, 8] x right [8, N], which lies along its depth. The left side is
// in registers: a wave's 16 rows, as mma.m16n8k8 takes them. Adds: to the sums, which else begin anew. Of
// float32 the unit cuts what tf32 has no room for.
#if GPU_SOFT
#define WGMMA_TF32(columns, registers, left, places, operands)                                               \
  template <bool Adds>                                                                                       \
  GPU_INLINE void wgmma_tf32(float(&sum)[columns / 8][4], const unsigned(&a)[4], unsigned long long right) { \
    gpu_wgmma_tf32<columns>(sum[0], a, right, Adds);                                                         \
  }
#else
#define WGMMA_TF32(columns, registers, left, places, operands)                                               \
  template <bool Adds>                                                                                       \
  GPU_INLINE void wgmma_tf32(float(&sum)[columns / 8][4], const unsigned(&a)[4], unsigned long long right) { \
    asm volatile("{ .reg .pred adds; setp.ne.b32 adds, " places                                              \
                 ", 0;\n"                                                                                    \
                 "wgmma.mma_async.sync.aligned.m64n" #columns "k8.f32.tf32.tf32 {" registers "}, " left      \
                 ", adds, 1, 1; }"                                                                           \
                 : operands                                                                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right), "n"(int(Adds)));                  \
  }
#endif
#define WGMMA_R32                                                                              \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_R64                                                                              \
  WGMMA_R32                                                                                    \
  ", "                                                                                         \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, " \
  "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_R128                                                                             \
  WGMMA_R64                                                                                    \
  ", "                                                                                         \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, " \
  "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, " \
  "%100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, " \
  "%115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
WGMMA(wgmma_f16, "f16", 64, WGMMA_R32, "%32, %33, adds, 1, 1, %34, %35", WGMMA_32(0))
WGMMA(wgmma_bf16, "bf16", 64, WGMMA_R32, "%32, %33, adds, 1, 1, %34, %35", WGMMA_32(0))
WGMMA(wgmma_f16, "f16", 128, WGMMA_R64, "%64, %65, adds, 1, 1, %66, %67", WGMMA_64(0))
WGMMA(wgmma_bf16, "bf16", 128, WGMMA_R64, "%64, %65, adds, 1, 1, %66, %67", WGMMA_64(0))
WGMMA(wgmma_f16, "f16", 256, WGMMA_R128, "%128, %129, adds, 1, 1, %130, %131", WGMMA_128(0))
WGMMA(wgmma_bf16, "bf16", 256, WGMMA_R128, "%128, %129, adds, 1, 1, %130, %131", WGMMA_128(0))
#undef WGMMA
WGMMA_TF32(64, WGMMA_R32, "{%32, %33, %34, %35}, %36", "%37", WGMMA_32(0))
WGMMA_TF32(128, WGMMA_R64, "{%64, %65, %66, %67}, %68", "%69", WGMMA_64(0))
#undef WGMMA_TF32

// The same of a left side [64, 16] in registers, of which a wave has its rows as mma.m16n8k16 takes them.
#if GPU_SOFT
#define WGMMA(name, type, columns, registers, places, operands)                                           \
  template <bool RightAcross>                                                                             \
  GPU_INLINE void name(float(&sum)[columns / 8][4], const unsigned(&left)[4], unsigned long long right) { \
    gpu_##name<columns>(sum[0], left, right, RightAcross);                                                \
  }
#else
#define WGMMA(name, type, columns, registers, places, operands)                                           \
  template <bool RightAcross>                                                                             \
  GPU_INLINE void name(float(&sum)[columns / 8][4], const unsigned(&left)[4], unsigned long long right) { \
    asm volatile(                                                                                         \
        "{ .reg .pred adds; setp.eq.u32 adds, 0, 0;\n"                                                    \
        "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type " {" registers "}, " places \
        "; }"                                                                                             \
        : operands                                                                                        \
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "n"(int(RightAcross)));     \
  }
#endif
WGMMA(wgmma_f16, "f16", 64, WGMMA_R32, "{%32, %33, %34, %35}, %36, adds, 1, 1, %37", WGMMA_32(0))
WGMMA(wgmma_bf16, "bf16", 64, WGMMA_R32, "{%32, %33, %34, %35}, %36, adds, 1, 1, %37", WGMMA_32(0))
#undef WGMMA

#endif

}  // namespace tenon::gpu
