// The inner loops of depthwise convolutions of bytes, on AVX-512's dot product of bytes.
#pragma once
#include <cstdint>

#include "kernels/cpu/coded_rows.h"

namespace tenon::cpu {

/// Bytes that are computed at once.
inline constexpr long depthwise_block = 64;

/// One row of the result, byte after byte: pixel after pixel and channel after channel. Block i of 64 bytes
/// is of phase i % phases, whose weights, offsets and scales it takes.
struct DepthwiseRow {
  const std::uint8_t* const* taps = nullptr;  // what byte 0 reads; whole groups of four
  long groups = 0;
  long bytes = 0;
  long phases = 0;
  const std::int8_t* weights =
      nullptr;  // [phase][group][4][16][4]: of each byte, in depthwise_order, four taps
  const std::int32_t* offsets = nullptr;  // [phase][64] in depthwise_order: begin the sums
  const float* scales = nullptr;          // the same
  const float* bias = nullptr;            // the same
  const CodesOfSums* codes = nullptr;     // null: numbers, in floats
  std::uint8_t* to_codes = nullptr;
  float* to_floats = nullptr;
};
/// Which byte of a block is number i of its weights.
constexpr long depthwise_order(long i) { return i % 16 / 4 * 16 + i / 16 * 4 + i % 4; }

namespace avx512 {
/// What taps point to is read up to 63 bytes beyond the row.
void integer_depthwise_row(const DepthwiseRow& row);
/// Bytes as unsigned ones: signed ones become 128 more.
void copy_unsigned(const std::uint8_t* from, long count, bool is_signed, std::uint8_t* to);
}  // namespace avx512

}  // namespace tenon::cpu
