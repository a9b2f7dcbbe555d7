// Matrix products C = A * B in float32, with an epilogue. Matrices are row-major; strides count elements.
#pragma once
#include "base/dtype.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/schedule.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// B of shape [K, N]: element (k, n) lies at data + k * k_stride + n * n_stride. A Linear weight [N, K] has
/// k_stride 1.
struct MatrixB {
  const void* data = nullptr;
  long k_stride = 0;
  long n_stride = 1;
  DType type = DType::f32;  // or f16, bf16, or a float8
  bool is_widened = false;  // the data are float32 numbers, each of which is one of `type`: bf16
  bool in_pieces = false;   // packed as float_pieces.h says, where gemm_runs_pieces; `type` is f32
  bool in_sums = false;  // packed as strassen.h says, where strassen_pays and the numbers fit; `type` is f32

  /// The matrix so many elements further on, and from an element on.
  MatrixB further(long elements) const;
  MatrixB from(long k, long n) const { return further(k * k_stride + n * n_stride); }
};

/// The type that a B of this type has packed: itself, but float8 is float16, which holds it exactly.
constexpr DType packed_type(DType b) { return is_float8(b) ? DType::f16 : b; }
/// Words of four bytes that pack_b writes for a [K, N] matrix of this type.
/// Packed data are for the ISA they were packed under.
long packed_b_size(long K, long N, DType type = DType::f32);
long packed_b_size(long K, long N, const MatrixB& b);
/// Are products of float32 of this size faster in pieces of bfloat16, and are all columns of B large enough?
bool gemm_runs_pieces(long M, long N, long K);
bool fits_pieces(long K, long N, const MatrixB& b);
void pack_b(long K, long N, const MatrixB& b, float* packed, ThreadPool& pool);

struct Gemm {
  long M = 0;
  long N = 0;
  long K = 0;
  const float* a = nullptr;
  long a_stride = 0;                        // elements between rows of A; 0 repeats one row
  const std::uint16_t* a_halves = nullptr;  // in place of a: bfloat16, for a B of bfloat16
  bool a_is_bf16 = false;                   // RowGemm::a_is_bf16
  const float* packed_b = nullptr;          // from pack_b; null: `b` is packed into scratch while it is used
  MatrixB b = {};  // its type is packed_b's, too; its data are read where it is in sums
  float* c = nullptr;
  std::uint16_t* c_halves = nullptr;  // in place of c: bfloat16, of no depth above RowGemm::max_depth
  long c_stride = 0;  // elements between rows of C: more than N writes into columns of a larger matrix
  Epilogue epilogue = {};
  long first_row = 0;      // what the epilogue's hook is told for the first row
  Schedule schedule = {};  // its knobs are row_gemm_knobs
};
/// Floats of scratch that gemm needs.
long gemm_scratch_size(const Gemm& g, int threads);
/// C[M, N] = epilogue(A[M, K] * B[K, N]), the same bits with B packed before or while it is used. C must not
/// overlap A or B.
void gemm(const Gemm& g, float* scratch, ThreadPool& pool);

/// `batch` products with a B of float32 or bfloat16 that is only known at run time; packed_b and c_stride
/// etc. as in `one`.
struct BatchedGemm {
  long batch = 1;
  Gemm one = {};  // pointers of the first product; packed_b is not used
  long a_batch_stride = 0;
  long b_batch_stride = 0;
  long c_batch_stride = 0;
  // The residual moves with C's rows (epilogue rows count batch * M + row); so do the rows the hook sees.
};
/// Floats of scratch that batched_gemm needs.
long batched_gemm_scratch_size(const BatchedGemm& g, int threads);
void batched_gemm(const BatchedGemm& g, float* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
