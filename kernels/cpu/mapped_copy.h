// Copies that read each axis at indices of a table: padding of every kind, and resizing to the nearest
// element.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/mapped_rows.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// target[i0][i1]... = source[offsets[0][i0] + offsets[1][i1] + ...], or the fill value where one of the
/// offsets is `outside`. The target's rows along its last axis are dense and evenly spaced. Planned once.
class MappedCopy {
 public:
  static constexpr long outside = mapped_outside;

  /// Offsets count elements of element_size bytes; an axis' offsets are as many as it is long. `fill` points
  /// to an element, which is copied. `row` is the distance between the target's rows in elements.
  MappedCopy(std::size_t element_size, std::vector<std::vector<long>> offsets, const void* fill, long row);

  /// Source and target must not overlap. Allocates nothing.
  void run(const void* source, void* target, ThreadPool& pool) const;

 private:
  static std::vector<MappedPiece> pieces_of(const std::vector<long>& offsets);
  static MappedRun run_of(const std::vector<MappedPiece>& pieces);
  /// Of rows first ... last - 1, visit(row, outer, offsets, count) for those along the last of the axes
  /// before the line: `count` from `row` on, with their offsets behind `outer`.
  template <class Visit>
  void for_runs(long first, long last, Visit visit) const;
  void copy_blocks(const std::byte* source, std::byte* target, const long* offsets, long rows) const;

  std::size_t size_;                        // of a block of elements that stay together
  long step_;                               // between blocks of the target, in bytes
  long line_step_;                          // between its lines
  std::vector<std::vector<long>> offsets_;  // of the axes before the last, in bytes
  std::vector<long> line_;                  // of the last axis, in blocks
  MappedRun run_;                           // of it, where it is most of it
  std::vector<MappedPiece> pieces_;         // of it, where they are long
  std::vector<long> nowhere_;               // for rows of the last of those axes, all outside
  bool has_outside_ = false;                // the last axis
  std::vector<std::byte> fill_;             // a block
  long rows_ = 1;
};

}  // namespace tenon::cpu
