// Reading by index: embedding rows, index_select, gather along a dim. Indices are checked.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// out[o][i][0 .. row_bytes) = table[o][indices[i]][0 .. row_bytes): an embedding (outer = 1), index_select
/// or ONNX Gather along any dim. All strides in bytes.
struct GatherRows {
  long outer = 1;
  long count = 0;       // of indices
  long table_rows = 0;  // valid indices are [0, table_rows), or [-table_rows, table_rows) with wrap_negative
  long row_bytes = 0;
  const void* table = nullptr;
  long table_outer_stride = 0;
  long table_stride = 0;
  void* out = nullptr;
  long out_outer_stride = 0;
  long out_stride = 0;
  const void* indices = nullptr;
  DType index_dtype = DType::i64;  // i32 or i64; contiguous
  bool wrap_negative = false;
};

/// Returns -1, or the position of the first index that is out of range; what its rows of out hold is then not
/// said.
long gather_rows(const GatherRows& gather, ThreadPool& pool);

/// Slices of a table, read where they lie: out[i][s...] = table[offsets[i] + s...]. Strides count elements.
struct GatherSlices {
  static constexpr std::size_t max_rank = 8;
  using Dims = std::array<long, max_rank>;
  std::size_t rank = 0;  // of a slice; 0: one element
  Dims dims = {}, table_strides = {}, out_strides = {};
  long count = 0;
  long out_stride = 0;                    // from a slice to the next one
  const std::int64_t* offsets = nullptr;  // one outside [least, largest] reads the least
  long least = 0, largest = 0;
  std::size_t element_size = 4;  // 1, 2, 4, 8 or 16
  const void* table = nullptr;
  void* out = nullptr;
};
void gather_slices(const GatherSlices& gather, ThreadPool& pool);

/// torch.gather, ONNX GatherElements: out[i] = table[i with i[dim] replaced by indices[i]] over the index
/// tensor's dims. Strides count elements.
struct GatherAlong {
  static constexpr int max_rank = 8;
  using Dims = std::array<long, max_rank>;
  int rank = 0;
  int dim = 0;
  Dims dims = {};                // of indices and out
  long table_extent = 0;         // of the table along dim
  std::size_t element_size = 4;  // 1, 2, 4, 8 or 16
  const void* table = nullptr;
  Dims table_strides = {};
  const void* indices = nullptr;
  DType index_dtype = DType::i64;
  Dims index_strides = {};
  void* out = nullptr;
  Dims out_strides = {};
  bool wrap_negative = false;
};

/// Returns -1, or the row-major position of the first index that is out of range.
long gather_along(const GatherAlong& gather, ThreadPool& pool);

}  // namespace tenon::cpu
