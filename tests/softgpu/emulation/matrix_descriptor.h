// How a matrix lies in shared memory by its descriptor: PTX ISA 9.0, section 9.7.15.5.1.2 (wgmma).
#pragma once
#include "matrix.h"

namespace gpusim {
inline namespace GPU_WAVE {

struct MatrixDescriptor {
  unsigned begin, leading, stride;  // bytes
  unsigned base_offset, swizzle;
  bool across;  // lines lie side by side, else the depth of a line does
  int element_bytes;

  MatrixDescriptor(uint64_t bits, bool lines_lie_side_by_side, int bytes)
      : across(lines_lie_side_by_side), element_bytes(bytes) {
    const auto field = [&](int first, int count) { return unsigned(bits >> first & ((1ull << count) - 1)); };
    begin = field(0, 14) << 4;
    leading = field(16, 14) << 4;
    stride = field(32, 14) << 4;
    base_offset = field(49, 3);
    swizzle = field(62, 2);
  }
  bool is_known() const { return swizzle == kBy128Bytes && base_offset == 0; }

  /// Bytes from the beginning of shared memory. Patterns of 8 rows of 128 bytes: a row is a line, or as
  /// many lines at one depth as it has room for. The swizzle exchanges the chunks of 16 bytes (bits 4 to 6)
  /// by the row (bits 7 to 9).
  unsigned address(int line, int depth) const {
    const int in_row = kRowBytes / element_bytes;
    const int row = across ? depth : line, along = across ? line % in_row : depth;
    const unsigned plain = begin + row / 8 * stride + row % 8 * kRowBytes + along * element_bytes +
                           (across ? line / in_row * leading : 0);
    return plain ^ (plain >> 3 & 0x70);
  }

 private:
  static constexpr unsigned kBy128Bytes = 1;
  static constexpr int kRowBytes = 128;
};

}  // namespace GPU_WAVE
}  // namespace gpusim
