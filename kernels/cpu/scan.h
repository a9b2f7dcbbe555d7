// Running folds along a dim.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "kernels/cpu/isa.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// y[o][i][c] = x[o][0][c] + ... + x[o][i][c], or another fold of these, of dense tensors
/// [outer, length, inner].
struct Scan {
  /// Sums, products and log_sum_exp (of f32 and f64) of floats are folded in double and rounded to each
  /// result. Of equal extremes the last one counts; NaN comes before every number.
  enum class Fold : std::uint8_t { sum, prod, max, min, log_sum_exp };
  Fold fold = Fold::sum;
  DType dtype = DType::f32;  // can_scan; integers wrap around, sums of bools are "or", products "and"
  long outer = 1, length = 0, inner = 1;
  const void* x = nullptr;
  void* y = nullptr;               // may be x
  std::int64_t* places = nullptr;  // of max and min: where along the dim each result lies
};

constexpr bool can_scan(DType t) {
  return is_bool(t) || is_integral(t) || t == DType::f32 || t == DType::f64;
}

void scan(const Scan& scan, ThreadPool& pool);

/// Lines one behind the other where `inner` is 1, else at most scan_columns_at_once columns of one `outer`.
struct ScanPart {
  long at;  // of its first element
  long count;
};
inline constexpr long scan_columns_at_once = 512;
using PartOfScan = void(const Scan& scan, const ScanPart& part);
TENON_PER_ISA(PartOfScan, scan_part, scan_part)

}  // namespace tenon::cpu
