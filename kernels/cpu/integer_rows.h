// What a product of integers does with each row before and after its products of bytes.
#pragma once
#include <cstdint>

#include "kernels/cpu/isa.h"

namespace tenon::cpu {

struct IntegerRange {
  std::int32_t least, largest;
};
/// Of a row of `count` numbers, and what was there.
using RangeOfRow = IntegerRange(const std::int32_t* row, long count, const IntegerRange& before);
TENON_PER_ISA(RangeOfRow, range_of_row, range_of_row)

/// to[k] = (row[k] - least) >> shift, its lowest byte. Returns the sum of the row, modulo 2^32.
using BytesOfRow = std::uint32_t(const std::int32_t* row, long count, std::uint32_t least, int shift,
                                 std::uint8_t* to);
TENON_PER_ISA(BytesOfRow, bytes_of_row, bytes_of_row)

/// The same of whole multiples of 1 / inverse: to[k] = row[k] * inverse - least, which lies from 0 to 255.
/// Returns the sum of row[k] * inverse.
using BytesOfGrid = std::uint32_t(const float* row, long count, float inverse, int least, std::uint8_t* to);
TENON_PER_ISA(BytesOfGrid, bytes_of_grid, bytes_of_grid)

/// to[k] = (row[k] - zero) * scale, of signed bytes or of unsigned ones.
using FloatsOfBytes = void(const std::uint8_t* row, long count, bool is_signed, float zero, float scale,
                           float* to);
TENON_PER_ISA(FloatsOfBytes, floats_of_bytes, floats_of_bytes)

/// Pixels of one to four channels, each a word: byte c is that of channel c, with `flip`'s bits inverted, and
/// the bytes of no channel are those of `blank`. Channels lie `plane` bytes apart, pixels `pixel` bytes.
struct PixelWords {
  const std::uint8_t* from;
  long plane, pixel;
  long channels;
  std::uint8_t flip, blank;
};
using WordsOfPixels = void(const PixelWords& pixels, long count, std::uint32_t* to);
TENON_PER_ISA(WordsOfPixels, words_of_pixels, words_of_pixels)

/// c[n] = products[n] + least * b_sums[n] + a_sum * offsets[n], modulo 2^32.
struct FinishedRow {
  const std::uint32_t *products, *b_sums, *offsets;
  std::uint32_t least, a_sum;
};
using FinishRow = void(const FinishedRow& row, long count, std::uint32_t* c);
TENON_PER_ISA(FinishRow, finish_row, finish_row)

/// The same times scale * scales[n].
using FinishFloats = void(const FinishedRow& row, long count, float scale, const float* scales, float* c);
TENON_PER_ISA(FinishFloats, finish_floats, finish_floats)

}  // namespace tenon::cpu
