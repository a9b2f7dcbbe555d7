// Linear algebra as the text of GPU kernels: each calls a function of a *.gpu.h for each matrix of a batch.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace tenon::gpu {

/// A buffer that the kernel reads or writes: a tensor of numbers or complex numbers seen as [matrices, rows,
/// columns].
struct MatrixBuffer {
  std::string name;
  DType dtype = DType::f32;
  bool is_result = false;
};

struct MatrixProgram {
  std::string header;  // "lu": of kernels/gpu/lu.gpu.h
  std::string call;    // "factor_lu(x, packed, pivots, memory)"; buffers by name are the block's matrices
  std::vector<MatrixBuffer> buffers;
  bool in_shared = true;  // the memory for a block's numbers; else a buffer
  bool may_fault = false;
};

/// The kernel `on_matrices` takes: the buffers, where in_shared is false f64 memory for all blocks, where it
/// may fault a fault; then for each buffer a Layout, and Blocks, all of 64-bit integers (matrix.gpu.h).
/// Blocks have 64 or 256 threads; any number of them will do. In the call, `part` is what a block has of the
/// columns.
std::string matrix_source(const MatrixProgram&);

/// Numbers of memory that a matrix takes there.
std::int64_t matrix_words(std::int64_t rows, std::int64_t columns);
/// So many fit the shared memory that every GPU has, beside what the functions take themselves.
inline constexpr std::int64_t most_shared_words = 5500;

}  // namespace tenon::gpu
