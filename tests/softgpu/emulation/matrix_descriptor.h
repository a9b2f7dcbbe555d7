// How a matrix lies in shared memory by its descriptor: PTX ISA 9.0, section 9.7.15.5.1.2 (wgmma), elements
// of 16 bits.
#pragma once
#include "matrix.h"

namespace gpusim {
inline namespace GPU_WAVE {

struct MatrixDescriptor {
  unsigned begin, leading, stride;  // bytes
  unsigned base_offset, swizzle;
  bool across;  // lines lie side by side, else the depth of a line does

  MatrixDescriptor(uint64_t bits, bool lines_lie_side_by_side) : across(lines_lie_side_by_side) {
    const auto field = [&](int first, int count) { return unsigned(bits >> first & ((1ull << count) - 1)); };
    begin = field(0, 14) << 4;
    leading = field(16, 14) << 4;
    stride = field(32, 14) << 4;
    base_offset = field(49, 3);
    swizzle = field(62, 2);
  }
  bool is_known() const { return swizzle == kBy128Bytes && base_offset == 0; }

  /// Bytes from the beginning of shared memory. Patterns of 8 rows of 128 bytes: a row is a line, or 64 lines
  /// at one depth. The swizzle exchanges the chunks of 16 bytes (bits 4 to 6) by the row (bits 7 to 9).
  unsigned address(int line, int depth) const {
    const int row = across ? depth : line, along = across ? line % kRow : depth;
    const unsigned plain =
        begin + row / 8 * stride + row % 8 * kRowBytes + along * 2 + (across ? line / kRow * leading : 0);
    return plain ^ (plain >> 3 & 0x70);
  }

 private:
  static constexpr unsigned kBy128Bytes = 1, kRowBytes = 128;
  static constexpr int kRow = 64;
};

}  // namespace GPU_WAVE
}  // namespace gpusim
