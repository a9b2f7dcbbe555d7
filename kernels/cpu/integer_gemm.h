// Matrix products of 32-bit integers by a matrix of 8-bit ones, exact modulo 2^32.
#pragma once
#include <cstdint>

#include "kernels/cpu/quantized_gemm.h"
#include "kernels/schedule.h"

namespace tenon::cpu {

/// The largest K of these products.
inline constexpr long integer_gemm_depth = 16384;

/// Words of four bytes that pack_integers writes for [K, N] codes: panels of four bytes of consecutive k; of
/// each column the sum, what is added to its codes to give the numbers that they stand for, and its scale.
long packed_integers_size(long K, long N);
/// Of the integers code - zero; one group. Null scales: 1.
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
  Schedule schedule = {};  // its knobs are row_gemm_knobs
};
/// Words of scratch for a product of this size, by either of these functions.
long integer_scratch_size(long M, long N, long K);
/// C[M, N] = A[M, K] * B[K, N]. A whose numbers lie within 256 of each other costs one product of bytes,
/// others one for each byte of their range.
void integer_gemm(const IntegerGemm& g, float* scratch, ThreadPool& pool);

/// A product of floats that stand for integers.
struct GridGemm {
  long M = 0;
  long N = 0;
  long K = 0;
  const float* a = nullptr;  // whole multiples of a_scale, from `least` on, 256 at most
  long a_stride = 0;
  float a_scale = 1;
  int least = 0;
  const float* packed_b = nullptr;
  float* c = nullptr;
  long c_stride = 0;
  Epilogue epilogue = {};
  Schedule schedule = {};  // its knobs are row_gemm_knobs
};
/// C[M, N] = epilogue(A[M, K] * B[K, N]); the sums of integers are exact.
void grid_gemm(const GridGemm& g, float* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
