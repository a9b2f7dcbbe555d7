// Sorting of lines, the first few of each, and the most frequent.
#pragma once
#include "base/dtype.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// What of each line is wanted.
enum class LinePart : std::uint8_t { first, one, mode };

/// The first k of each line in order: the smallest first, or with `descending` the largest. Equal elements
/// (so are -0 and 0) keep their order; NaN is larger than every number. Unless `sorted`, the k-th comes last,
/// and the others before it as they come.
///
/// Or one of them alone, which is written at its rank among the results; the others are not written.
///
/// Or the most frequent element (k is 1), of several the smallest; NaN differs from NaN. Its place is that of
/// the last of equal ones as std::sort leaves them, where PyTorch finds it.
struct SortLines {
  LinePart part = LinePart::first;
  const void* x = nullptr;  // [lines, length], dense, of a real dtype
  DType dtype = DType::f32;
  long lines = 0;
  long length = 0;
  long k = 0;
  bool descending = false, sorted = true;
  const std::int64_t* ranks = nullptr;  // [lines], in [0, k): which one; null: the last
  void* values = nullptr;               // [lines, k], of x's dtype
  std::int64_t* places = nullptr;       // [lines, k]: where each lay in its line
};
/// Bytes of scratch that sort_lines needs.
std::size_t sort_scratch_size(const SortLines& s, int threads);
void sort_lines(const SortLines& s, void* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
