// Copies that read each axis at indices of a table: padding of every kind, and resizing to the nearest
// element.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// target[i0][i1]... = source[offsets[0][i0] + offsets[1][i1] + ...] of a dense target, or the fill value
/// where one of the offsets is `outside`. Planned once.
class MappedCopy {
 public:
  static constexpr long outside = std::numeric_limits<long>::min();

  /// Offsets count elements of element_size bytes; an axis' offsets are as many as it is long. `fill` points
  /// to an element, which is copied.
  MappedCopy(std::size_t element_size, std::vector<std::vector<long>> offsets, const void* fill);

  /// Source and target must not overlap. Allocates nothing.
  void run(const void* source, void* target, ThreadPool& pool) const;

 private:
  /// Elements of a line that lie evenly in the source: `count` of them, each `repeats` times; count * repeats
  /// of the fill value where `from` is outside.
  struct Piece {
    long from, step, count, repeats;
  };
  static std::vector<Piece> pieces_of(const std::vector<long>& offsets);
  template <class Visit>
  void for_rows(long first, long last, Visit visit) const;
  template <class T>
  void copy_line(const T* source, T* target) const;
  template <class T>
  void fill_line(T* target) const;
  template <class T>
  void copy_rows(const std::byte* source, std::byte* target, long first, long last) const;

  std::size_t size_;                        // of a block of elements that stay together
  std::vector<std::vector<long>> offsets_;  // of the axes before the last, in bytes
  std::vector<long> line_;                  // of the last axis, in blocks
  std::vector<Piece> pieces_;               // of it, where they are long
  bool has_outside_ = false;                // the last axis
  std::vector<std::byte> fill_;             // a block
  long rows_ = 1;
};

}  // namespace tenon::cpu
