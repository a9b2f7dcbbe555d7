// The matrix instructions of the vendors, each with its emulation beside it. All lanes of a wave take part.
// Layouts: PTX ISA 9.0, section 9.7.14; AMD CDNA3 and RDNA3 instruction set guides.
#pragma once
#include "kernels/gpu/prelude.gpu.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define GPU_MMA 1  // Ampere and later: mma.sync of f16, bf16, tf32 and bytes, and cp.async
#if __CUDA_ARCH__ >= 890
#define GPU_MMA_OF_FLOAT8 1  // Ada and later: e4m3fn and e5m2
#endif
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define GPU_WGMMA 1  // Hopper
#endif
#elif defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define GPU_MFMA 1  // CDNA 2 and later
#if defined(__gfx942__)
#define GPU_MFMA_OF_FLOAT8 1  // CDNA 3: e4m3fnuz and e5m2fnuz
#endif
#elif defined(__GFX11__)
#define GPU_WMMA 1  // RDNA 3
#endif

namespace tenon::gpu {

#if GPU_MMA

// mma.m16n8k32 (bytes, float8), m16n8k16 (16 bits) and m16n8k8 (tf32). Lane l = 4 g + t holds of the left
// side rows g and g + 8, of the right one column g, of the sum rows g and g + 8, columns 2 t and 2 t + 1.
#if GPU_SOFT
#define MMA(name, shape, Sum, held) \
  GPU_INLINE void name(Sum(&sum)[4], const unsigned(&a)[4], const unsigned(&b)[2]) { gpu_##name(sum, a, b); }
#else
#define MMA(name, shape, Sum, held)                                                   \
  GPU_INLINE void name(Sum(&sum)[4], const unsigned(&a)[4], const unsigned(&b)[2]) {  \
    asm volatile("mma.sync.aligned." shape                                            \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
                 : held(sum[0]), held(sum[1]), held(sum[2]), held(sum[3])             \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
#endif
MMA(mma_f16, "m16n8k16.row.col.f32.f16.f16.f32", float, "+f")
MMA(mma_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", float, "+f")
MMA(mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", float, "+f")
MMA(mma_s8_s8, "m16n8k32.row.col.s32.s8.s8.s32", unsigned, "+r")
MMA(mma_s8_u8, "m16n8k32.row.col.s32.s8.u8.s32", unsigned, "+r")
MMA(mma_u8_s8, "m16n8k32.row.col.s32.u8.s8.s32", unsigned, "+r")
MMA(mma_u8_u8, "m16n8k32.row.col.s32.u8.u8.s32", unsigned, "+r")
#if GPU_MMA_OF_FLOAT8
MMA(mma_e4m3_e4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32", float, "+f")
MMA(mma_e4m3_e5m2, "m16n8k32.row.col.f32.e4m3.e5m2.f32", float, "+f")
MMA(mma_e5m2_e4m3, "m16n8k32.row.col.f32.e5m2.e4m3.f32", float, "+f")
MMA(mma_e5m2_e5m2, "m16n8k32.row.col.f32.e5m2.e5m2.f32", float, "+f")
#endif
#undef MMA

/// ldmatrix: 2 or 4 matrices of 8 rows of 16 bytes in shared memory. Lane 8 i + r gives the address of row r
/// of matrix i. Lane 4 g + t gets word t of row g of each; transposed, elements 2 t and 2 t + 1 of column g.
template <bool Transposed>
GPU_INLINE void load_matrices(unsigned (&to)[4], const void* row) {
#if GPU_SOFT
  gpu_load_matrices<Transposed>(to, row);
#else
  const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
#endif
}
template <bool Transposed>
GPU_INLINE void load_matrices(unsigned (&to)[2], const void* row) {
#if GPU_SOFT
  gpu_load_matrices<Transposed>(to, row);
#else
  const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(from)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "r"(from)
                 : "memory");
#endif
}

/// Two numbers, rounded, in a register.
GPU_INLINE unsigned pair_of(float low, float high, half) {
#if GPU_SOFT
  return to_half(low).bits | unsigned(to_half(high).bits) << 16;
#else
  unsigned result;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
#endif
}
GPU_INLINE unsigned pair_of(float low, float high, bfloat16) {
#if GPU_SOFT
  return to_bfloat16(low).bits | unsigned(to_bfloat16(high).bits) << 16;
#else
  unsigned result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
#endif
}

/// a * b + c, rounded once, whatever becomes of c.
GPU_INLINE float multiply_add(float a, float b, float c) {
#if GPU_SOFT
  return __builtin_fmaf(a, b, c);
#else
  float result;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
#endif
}

/// The nearest number of tf32: 10 bits behind the point.
GPU_INLINE unsigned to_tf32(float x) {
#if GPU_SOFT
  const unsigned bits = bits_as<unsigned>(x);
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
#else
  unsigned result;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(x));
  return result;
#endif
}

// Copies of 16 bytes from global to shared memory that go on while the thread computes.

GPU_INLINE void copy_async(void* shared, const void* global) {
#if GPU_SOFT
  gpu_copy_async16(shared, global);
#else
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
#endif
}
/// The first `bytes` are read, the others are zero. This takes ten instructions more.
GPU_INLINE void copy_async(void* shared, const void* global, int bytes) {
#if GPU_SOFT
  gpu_copy_async16(shared, global, bytes);
#else
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
#endif
}
GPU_INLINE void commit_copies() {
#if GPU_SOFT
  gpu_copy_async_commit();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Until all but the last `Pending` groups have arrived, of the calling thread's.
template <int Pending>
GPU_INLINE void wait_for_copies() {
#if GPU_SOFT
  gpu_copy_async_wait<Pending>();
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

#elif GPU_MFMA

// 16x16x32 (float8, bytes; these 16x16x16 on CDNA 2), 16x16x16 (16 bits) and 16x16x4 (f32). Lane l = 16 q + t
// holds row (column) t of the left (right) side, and of the sum rows 4 q to 4 q + 3 of column t. Bytes have a
// sign.
#if GPU_SOFT
#define MFMA(name, Sum, Sums, type, instruction, words)                                      \
  GPU_INLINE void name(Sum(&sum)[4], const unsigned(&a)[words], const unsigned(&b)[words]) { \
    gpu_##name(sum, a, b);                                                                   \
  }
#else
using Int4 = __attribute__((__vector_size__(4 * sizeof(int)))) int;
using Float4 = __attribute__((__vector_size__(4 * sizeof(float)))) float;
using Half4 = __attribute__((__vector_size__(4 * sizeof(_Float16)))) _Float16;
using Short4 = __attribute__((__vector_size__(4 * sizeof(short)))) short;
#define MFMA(name, Sum, Sums, type, instruction, words)                                      \
  GPU_INLINE void name(Sum(&sum)[4], const unsigned(&a)[words], const unsigned(&b)[words]) { \
    type left, right;                                                                        \
    Sums total;                                                                              \
    GPU_COPY(&left, a, sizeof a);                                                            \
    GPU_COPY(&right, b, sizeof b);                                                           \
    GPU_COPY(&total, sum, sizeof sum);                                                       \
    total = __builtin_amdgcn_mfma_##instruction(left, right, total, 0, 0, 0);                \
    GPU_COPY(sum, &total, sizeof sum);                                                       \
  }
#endif
MFMA(mfma_f16, float, Float4, Half4, f32_16x16x16f16, 2)
MFMA(mfma_bf16, float, Float4, Short4, f32_16x16x16bf16_1k, 2)
MFMA(mfma_f32, float, Float4, float, f32_16x16x4f32, 1)
#if defined(__gfx90a__)
constexpr int mfma_bytes = 4;  // of a lane
MFMA(mfma_i8, unsigned, Int4, int, i32_16x16x16i8, 1)
#else
constexpr int mfma_bytes = 8;
MFMA(mfma_i8, unsigned, Int4, long, i32_16x16x32_i8, 2)
#endif
#if GPU_MFMA_OF_FLOAT8
MFMA(mfma_fp8_fp8, float, Float4, long, f32_16x16x32_fp8_fp8, 2)
MFMA(mfma_fp8_bf8, float, Float4, long, f32_16x16x32_fp8_bf8, 2)
MFMA(mfma_bf8_fp8, float, Float4, long, f32_16x16x32_bf8_fp8, 2)
MFMA(mfma_bf8_bf8, float, Float4, long, f32_16x16x32_bf8_bf8, 2)
#endif
#undef MFMA

#elif GPU_WMMA

// 16x16x16. Lane l = 16 q + t holds row (column) t of the left (right) side, and of the sum rows q, q + 2,
// ... of column t.
#if GPU_SOFT
#define WMMA(name, Sum, Sums, type, words, ...)                                              \
  GPU_INLINE void name(Sum(&sum)[8], const unsigned(&a)[words], const unsigned(&b)[words]) { \
    gpu_##name(sum, a, b);                                                                   \
  }
#else
using Int4 = __attribute__((__vector_size__(4 * sizeof(int)))) int;
using Int8 = __attribute__((__vector_size__(8 * sizeof(int)))) int;
using Float8 = __attribute__((__vector_size__(8 * sizeof(float)))) float;
using Half16 = __attribute__((__vector_size__(16 * sizeof(_Float16)))) _Float16;
using Short16 = __attribute__((__vector_size__(16 * sizeof(short)))) short;
#define WMMA(name, Sum, Sums, type, words, instruction, ...)                                 \
  GPU_INLINE void name(Sum(&sum)[8], const unsigned(&a)[words], const unsigned(&b)[words]) { \
    type left, right;                                                                        \
    Sums total;                                                                              \
    GPU_COPY(&left, a, sizeof a);                                                            \
    GPU_COPY(&right, b, sizeof b);                                                           \
    GPU_COPY(&total, sum, sizeof sum);                                                       \
    total = __builtin_amdgcn_wmma_##instruction##_w32(__VA_ARGS__);                          \
    GPU_COPY(sum, &total, sizeof sum);                                                       \
  }
#endif
WMMA(wmma_f16, float, Float8, Half16, 8, f32_16x16x16_f16, left, right, total)
WMMA(wmma_bf16, float, Float8, Short16, 8, f32_16x16x16_bf16, left, right, total)
// Which side's bytes have a sign; sums are not saturated.
WMMA(wmma_s8_s8, unsigned, Int8, Int4, 4, i32_16x16x16_iu8, true, left, true, right, total, false)
WMMA(wmma_s8_u8, unsigned, Int8, Int4, 4, i32_16x16x16_iu8, true, left, false, right, total, false)
WMMA(wmma_u8_s8, unsigned, Int8, Int4, 4, i32_16x16x16_iu8, false, left, true, right, total, false)
WMMA(wmma_u8_u8, unsigned, Int8, Int4, 4, i32_16x16x16_iu8, false, left, false, right, total, false)
#undef WMMA

#endif

}  // namespace tenon::gpu
