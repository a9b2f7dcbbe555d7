// Strided copies of any rank and element size: permutes, slices, broadcasts, concatenation pieces, fills.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/loop_program.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// target[i0 * target_strides[0] + ...] = source[i0 * source_strides[0] + ...], planned once.
///
/// Strides count elements; source strides may be 0 (broadcast) or negative, target strides may be negative.
/// Transpositions go through registers.
class StridedCopy {
 public:
  /// element_size: 1, 2, 4, 8 or 16.
  StridedCopy(std::size_t element_size, std::span<const std::int64_t> dims,
              std::span<const std::int64_t> source_strides, std::span<const std::int64_t> target_strides);

  /// Source and target must not overlap. Allocates nothing.
  void run(const void* source, void* target, ThreadPool& pool) const;

 private:
  struct Dim {
    long extent;
    long source;
    long target;
  };
  static long elements_of(const std::vector<Dim>& dims);
  /// One row of the source fills those of the target, which lie one behind the other.
  static bool repeats(const Dim& row, const Dim& rows);
  bool choose_box();
  void run_rows(const std::byte* source, std::byte* target, long first, long last) const;
  template <class T>
  void run_rows_of(const std::byte* source, std::byte* target, long first, long last) const;
  void run_blocks(const std::byte* source, std::byte* target, long first, long last) const;
  void run_boxes(const std::byte* source, std::byte* target, long first, long last) const;

  long element_size_;
  std::vector<Dim> outer_;
  Dim inner_{1, 1, 1};
  Dim swapped_{1, 0, 0};  // the dim along which the source is contiguous, if it is a transposition
  long source_start_ = 0, target_start_ = 0;  // of a transposition: elements
  std::vector<Dim> box_;  // the dims inside the outer ones, where two of them are few elements
  long box_rows_ = 1;     // of its first dim, at once
  bool transposes_ = false;
  bool empty_ = false;
};

/// target[0 .. count) = the element at `value`.
void fill(void* target, const void* value, std::size_t element_size, long count, ThreadPool& pool);

/// A loop program that copies buffer 0 of dtype `from` to buffer 1 of dtype `to`, converting as PyTorch does.
LoopProgram converting_copy(DType from, DType to, std::span<const std::int64_t> dims,
                            std::span<const std::int64_t> source_strides,
                            std::span<const std::int64_t> target_strides);

}  // namespace tenon::cpu
