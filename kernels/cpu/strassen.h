// Products of float32 by one level of Strassen's method: seven products of halves of A and B in place of
// eight (Strassen: Gaussian elimination is not optimal, 1969). Sums of quarters of B are packed before.
//
// Sums lose digits of what is small beside what it is added to. So each row of B is brought to a largest
// number of 1 to 2 by a power of two, which the column of A takes in turn, then each row of A and each column
// of B (Ballard, Benson, Druinsky, Lipshitz, Schwartz: Improving the Numerical Stability of Fast Matrix
// Multiplication, 2016). Rows and columns with outliers are then multiplied plainly.
#pragma once
#include "kernels/cpu/isa.h"
#include "kernels/cpu/row_gemm.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// Is this faster than a plain product of these sizes?
bool strassen_pays(long M, long N, long K);
/// The share of a plain product's time that it takes, about (docs/performance.md#strassens-method).
double strassen_time(long M, long N, long K);
/// What of RowGemm::schedule counts.
inline constexpr Knobs strassen_knobs{.tile = true};

/// A matrix of [K, N] in float32: element (k, n) lies at data + k * k_stride + n * n_stride. K is even.
struct StrassenB {
  long K, N;
  const float* data;
  long k_stride, n_stride;

  /// Floats of the packed sums.
  static long packed_size(long K, long N);
  /// False where a column has an infinity, a NaN, a number above 2^100 or outliers: `packed` is free for B as
  /// it is, then, but for its last number, which is_packed reads.
  bool pack(float* packed, ThreadPool& pool) const;
  static bool is_packed(long K, long N, const float* packed);
};

/// Floats of scratch for a product of these sizes.
long strassen_scratch_size(long M, long K, int threads);
/// C = epilogue(A * B), where g.b are the packed sums of B. Rows of A are one run; rows of A, of C and of
/// what the epilogue reads lie at one distance; C is float32, or the hook stores it. Ends at a block of
/// rows one of which has an infinity, a NaN or a number above 2^100, which would spread to other rows, or
/// outliers. Returns how many rows are done.
long run_strassen(const RowGemm& g, float* scratch, ThreadPool& pool);

/// A number is near the largest one of its row or column that is at least 2^-11 of it.
inline constexpr int strassen_near_bits = 11;
/// Are so few of so many numbers near the largest one that they are outliers?
constexpr bool strassen_has_outliers(long near, long count) {
  constexpr long one_of = 64;
  return near * one_of < count;
}

/// So many rows of B, side by side, and their scales: B is divided by them, A takes them (0 of a row of
/// zeros).
struct StrassenDepth {
  const float* data;  // element (k, n) lies at data + k * k_stride + n * n_stride
  long count, N, k_stride, n_stride;
  float* scale;
};
/// False where there is a number that StrassenB::pack does not take.
using StrassenDepths = bool(const StrassenDepth&);
TENON_PER_ISA(StrassenDepths, scale_strassen_depth, scale_strassen_depth)

/// A panel of columns of the left half of B and one of the right half, each of the tile's columns, and where
/// their seven sums go, one after the other.
struct StrassenPanels {
  const float* left;
  const float* right;
  const float* depth_scale;  // of each row
  long half_depth;
  float* sums;
  float* left_unscale;  // of each column: what it was divided by
  float* right_unscale;
};
/// False where a column has outliers.
using StrassenPanelSums = bool(const StrassenPanels&);
TENON_PER_ISA(StrassenPanelSums, form_strassen_panels, form_strassen_panels)

/// Rows i and i + half of A, and where their parts of the seven sums lie.
struct StrassenRows {
  const float* upper;
  const float* lower;        // null: zeros
  const float* depth_scale;  // of each element
  long half_depth;
  float* sums;  // seven rows, so far apart
  long sum_distance;
  float* unscale;  // of both rows: what it was divided by
};
/// False where there is a number that run_strassen does not take.
using StrassenSums = bool(const StrassenRows&);
TENON_PER_ISA(StrassenSums, form_strassen_sums, form_strassen_sums)

/// Rows of five products. In place of the first four: what is added to the other two, which are the upper
/// left quarter of C and the lower right one, then the upper right quarter and the lower left one.
struct StrassenJoin {
  float* products;
  long product_distance;
  long cols;                 // whole vectors
  const float* row_unscale;  // StrassenRows::unscale
  const float* left_unscale;
  const float* right_unscale;
};
using StrassenJoins = void(const StrassenJoin&);
TENON_PER_ISA(StrassenJoins, join_strassen_row, join_strassen_row)

}  // namespace tenon::cpu
