// Products of matrices of bfloat16 whose right sides are small enough to stay in the L1 cache, packed. What a
// product costs beside its arithmetic is little.
#pragma once
#include <cstdint>

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// c[m][n] = rounding(the sum of a[m][k] * b[k][n]), in bfloat16. Columns of a and c are contiguous; strides
/// count elements.
struct SmallPairs {
  long M = 0, N = 0, K = 0;
  const std::uint16_t* a = nullptr;
  const std::uint16_t* b = nullptr;
  std::uint16_t* c = nullptr;
  long a_row = 0, b_row = 0, b_column = 1, c_row = 0;
  long a_batch = 0, b_batch = 0, c_batch = 0;         // products so far apart
  RoundedRows rounding{.to = RoundedRows::To::bf16};  // with a short activation
  const void* residual = nullptr;
  long residual_row = 0, residual_batch = 0;

  static constexpr long most_work = 1 << 22, most_words = 8192;
  /// Larger ones take less time as products of row_gemm.h.
  bool is_small() const { return M * N * K <= most_work && (K + 1) / 2 * ((N + 15) / 16) * 16 <= most_words; }
};

/// Has the CPU a dot product of pairs that is faster than that of floats?
using RunsSmallPairs = bool();
TENON_PER_ISA(RunsSmallPairs, runs_small_pairs, runs_small_pairs)
/// Products [first, last) of a batch of small ones, there alone.
using SmallPairsRun = void(const SmallPairs& product, long first, long last);
TENON_PER_ISA(SmallPairsRun, run_small_pairs, small_pairs)

}  // namespace tenon::cpu
