// How the right side of a product lies in memory that is kept in codes (coded_side.gpu.h).
#pragma once
#include <cstdint>

namespace tenon::gpu {

/// (code - zero point) * scale. The codes of a column lie along its depth, the first in the lowest bits, and
/// are filled up to 16 bytes; behind the codes of all columns lie the scales (f32) of each column and group
/// of depths, and then zero points (i16), if groups have their own.
struct ProductCodes {
  int bits = 8;            // of an unsigned code: 8 or 4
  std::int64_t group = 0;  // depths that share scale and zero point: all, or a multiple of coded_row_count
  std::int64_t zero = 0;   // of all codes; groups' own are added
  bool has_zeros = false;

  std::int64_t groups(std::int64_t depth) const { return (depth + group - 1) / group; }
  std::int64_t column_bytes(std::int64_t depth) const { return (depth * bits + 127) / 128 * 16; }
  std::int64_t scales_at(std::int64_t columns, std::int64_t depth) const {
    return columns * column_bytes(depth);
  }
  std::int64_t zeros_at(std::int64_t columns, std::int64_t depth) const {
    return scales_at(columns, depth) + columns * groups(depth) * 4;
  }
  std::int64_t bytes(std::int64_t columns, std::int64_t depth) const {
    return zeros_at(columns, depth) + (has_zeros ? columns * groups(depth) * 2 : 0);
  }
};

/// Codes that are read at once: for a tile, and for a product of few rows.
inline constexpr int coded_tile_count = 8, coded_row_count = 16;

}  // namespace tenon::gpu
