// Sparse times dense: the aggregation of graph networks, out[target] += weight * x[source] over the edges.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// A sparse matrix as edges in any order; several edges may join the same pair.
struct Coo {
  long rows = 0;  // targets
  long cols = 0;  // sources
  long edges = 0;
  const void* row = nullptr;  // i32 or i64
  const void* col = nullptr;
  DType index_dtype = DType::i64;
  bool row_from_end = false;      // negative rows count from the end
  bool col_from_end = false;      // negative columns count from the end
  const float* weight = nullptr;  // null: all 1
};

/// The same, by rows: entries offsets[r] .. offsets[r + 1), in the order the edges came in.
struct Csr {
  struct Entry {
    std::int32_t col;
    float weight;
  };
  const std::int32_t* offsets = nullptr;
  const Entry* entries = nullptr;
  long rows = 0;
};

/// Bytes of 64-byte aligned memory that hold a Csr, and of scratch that sorting takes.
std::size_t csr_bytes(long rows, long edges);
std::size_t csr_scratch_bytes(long rows, int threads);
/// The matrix that csr_from_coo left in this memory.
Csr csr_in(const void* memory, long rows);

/// Sorts the edges by row (a stable counting sort; rows, cols and edges < 2^31). Returns -1, or the position
/// of the first edge with an index out of range, and then leaves no matrix. The result does not depend on the
/// number of threads.
long csr_from_coo(const Coo& coo, void* memory, void* scratch, ThreadPool& pool);

/// out[r][0 .. features) = sum over the entries of row r of weight * x[col][0 .. features). Strides count
/// floats. Each sum is taken in the order of the entries.
struct Spmm {
  Csr matrix;
  long features = 0;
  const float* x = nullptr;
  long x_stride = 0;
  float* out = nullptr;
  long out_stride = 0;
};
void spmm(const Spmm& product, ThreadPool& pool);

}  // namespace tenon::cpu
