// Running folds as the text of GPU kernels (scan.gpu.h).
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "base/dtype.h"

namespace tenon::gpu {

enum class Scan { sum, prod, max, min, log_sum_exp };

/// Of elements seen as [outer, length, inner].
struct ScanForm {
  Scan scan = Scan::sum;
  DType x = DType::f32, y = DType::f32;
  std::int64_t outer = 0, length = 0, inner = 1;

  bool has_places() const { return scan == Scan::max || scan == Scan::min; }
  bool by_rows() const { return inner == 1; }
  bool by_blocks() const;      // else waves take rows
  std::int64_t parts() const;  // of a line; at most scan_threads
  /// Bytes of the parts' folds.
  std::int64_t scratch_bytes() const { return 16 * outer * inner * parts(); }
  /// Blocks of scan_threads, on a device with waves of this size.
  std::int64_t grid(int wave) const;
  /// outer, length, inner, parts, part_length: how ScanShape begins; strides follow.
  std::array<std::int64_t, 5> fields() const;
};
inline constexpr int scan_threads = 256;

/// `fold_parts(x, folds, ScanShape)`, where there is more than one part, and `scan(x, folds, y, [places,]
/// ScanShape)`; with one part nothing is read from `folds`.
std::string scan_source(const ScanForm&);

}  // namespace tenon::gpu
