// Rows of a copy by tables (mapped_copy.h). Internal to it.
#pragma once
#include <cstddef>
#include <limits>

#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Where a table names no element: the target has the fill value there.
inline constexpr long mapped_outside = std::numeric_limits<long>::min();

/// Elements of a line that lie evenly in the source: `count` of them, each `repeats` times; count * repeats
/// of the fill value where `from` is outside.
struct MappedPiece {
  long from, step, count, repeats;
};

/// Most of a line, as it lies in the source: elements first ... first + count - 1 of it.
struct MappedRun {
  long first = 0, from = 0, count = 0;
};

/// How a line is read: element i of it is element places[i] of the source's.
struct MappedLine {
  std::size_t size;  // of an element: 1, 2, 4 or 8 bytes
  const long* places;
  long length;
  bool has_outside;
  MappedRun run;              // count 0: there is none that is most of the line
  const MappedPiece* pieces;  // the same in pieces, where they are long
  long piece_count;           // 0: they are not
  const void* fill;
};

/// Lines one behind the other: line r is read `offsets[r]` bytes behind the source, or filled where that is
/// outside.
using CopyMappedRows = void(const MappedLine& line, const std::byte* source, const long* offsets, long rows,
                            std::byte* target);
TENON_PER_ISA(CopyMappedRows, copy_mapped_rows, copy_mapped_rows)

}  // namespace tenon::cpu
