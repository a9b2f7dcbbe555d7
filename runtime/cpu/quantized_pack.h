// Matrices of integers, as the CPU's kernels pack them.
#pragma once
#include "kernels/cpu/quantized_gemm.h"
#include "runtime/calls/quantized_matrix.h"
#include "runtime/planner.h"

namespace tenon {

/// What the packing kernels read. matrix.numbers() must be there; the matrix must outlive it.
cpu::QuantizedB numbers_of(const QuantizedMatrix& matrix);
/// For integer_gemm and grid_gemm (integer_gemm.h).
PlannedTensor packed_bytes(Planner& planner, const QuantizedMatrix& matrix);

}  // namespace tenon
