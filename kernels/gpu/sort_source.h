// Sorting as the text of GPU kernels (sort.gpu.h).
#pragma once
#include <string>

#include "base/dtype.h"
#include "kernels/gpu/order_source.h"

namespace tenon::gpu {

/// How lines are sorted, and how many of each are wanted.
struct SortForm {
  DType dtype = DType::f32;
  bool descending = false;
  std::int64_t lines = 0, length = 0, count = 0;

  enum class Way {
    ranks,   // short lines: each element counts what stands before it
    block,   // a block sorts a line
    select,  // a block finds the first few of a line, and sorts these
    passes   // keys, which order_keys sorts
  };
  Way way() const;
  /// In how many parts the way `select` divides each line on a GPU of so many processors.
  std::int64_t parts(std::int64_t processors) const;
  /// Of the keys.
  OrderSize order() const;
  /// Threads for each line that is short: a power of two.
  int width() const;
  /// Blocks of order_threads: of `sort`.
  std::int64_t grid() const;
};

/// `sort(x, values, places, SortShape)`; not of the way `passes`.
std::string sort_source(const SortForm&);
/// The way `select` in parts: `select_in_parts(x, places, SortShape, parts)`, a block for each part of each
/// line, which finds `count` places (i32); `select_of_parts(x, places, values, places, SortShape, parts)`, a
/// block for each line.
std::string sort_parts_source(const SortForm&);
/// `make_keys(x, keys, SortShape)`, a thread for each element; `put_ordered(x, numbers, values, places,
/// SortShape)`, a thread for each element wanted; `put_mode(x, keys, numbers, values, places, SortShape)`, a
/// block for each line.
std::string sort_passes_source(const SortForm&);
/// `search(lines, values, places, SearchShape)`: a thread for each value.
std::string search_source(DType dtype, bool right);

}  // namespace tenon::gpu
