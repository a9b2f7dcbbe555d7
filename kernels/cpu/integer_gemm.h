// Matrix products of 32-bit integers by a matrix of 8-bit ones, exact modulo 2^32.
#pragma once
#include <cstdint>

#include "kernels/cpu/quantized_gemm.h"

namespace tenon::cpu {

/// The largest K of these products.
inline constexpr long integer_gemm_depth = 16384;

/// Words of four bytes that pack_integers writes for [K, N] codes: panels of four bytes of consecutive k, the
/// sum of each column, and what is added to each of its codes to give the number that it stands for.
long packed_integers_size(long K, long N);
/// Of the integers code - zero; one group, scales are not read.
void pack_integers(long K, long N, const QuantizedB& b, float* packed, ThreadPool& pool);

struct IntegerGemm {
  long M = 0;
  long N = 0;
  long K = 0;
  const std::int32_t* a = nullptr;
  long a_stride = 0;
  const float* packed_b = nullptr;
  std::int32_t* c = nullptr;
  long c_stride = 0;
};
/// Words of scratch.
long integer_gemm_scratch_size(const IntegerGemm& g);
/// C[M, N] = A[M, K] * B[K, N]. A whose numbers lie within 256 of each other costs one product of bytes,
/// others one for each byte of their range.
void integer_gemm(const IntegerGemm& g, float* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
