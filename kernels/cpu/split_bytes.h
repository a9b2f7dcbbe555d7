// Signed bytes in two parts, for CPUs whose product of unsigned by signed bytes adds two neighbours in 16
// bits: neighbours of B of one sign add up to 128 at most, so that no sum overflows whatever A holds. What is
// beyond that is a second matrix, whose rows are those words alone that have any.
#pragma once
#include <cstdint>

namespace tenon::cpu {

/// What is beyond, in strips of so many columns. A row holds for each column what goes to the bytes 0 and 2
/// of a word of A, as two numbers of 16 bits.
struct RestOfBytes {
  static constexpr long columns = 8;
  const std::int32_t* begin = nullptr;  // of each strip its first row, and where the last one ends
  const std::int32_t* words = nullptr;  // of each row its word of the depth, which ascend in a strip
  const std::int32_t* rows = nullptr;   // `columns` words each

  /// Words of all that for a matrix of whole strips, at most.
  static long size(long width, long depth) {
    const long strips = width / columns;
    return strips + 1 + strips * depth * (1 + columns);
  }
  /// Of a matrix that split_bytes wrote there.
  static RestOfBytes at(const std::int32_t* memory, long width, long depth) {
    const long strips = width / columns;
    const std::int32_t* const words = memory + strips + 1;
    return {.begin = memory, .words = words, .rows = words + strips * depth};
  }
};

/// Splits panels of `panel_width` columns and `depth` words, in place, and writes `width` columns of
/// RestOfBytes.
void split_bytes(std::int8_t* panels, long panel_width, long width, long depth, std::int32_t* rest);

}  // namespace tenon::cpu
