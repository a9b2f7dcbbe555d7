// A matrix in memory as bulk tensor copies of NVIDIA's GPUs read it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace tenon::gpu {

/// What the driver is asked for a CUtensorMap of a matrix, whose elements lie side by side along dimension 0.
/// A copy brings a box of it to shared memory, in rows of 128 bytes that are swizzled; what lies outside of
/// the matrix is 0. The matrix and its rows begin at multiples of 16 bytes.
struct TensorMap {
  std::size_t buffer = 0;  // of the kernel's buffers
  DType dtype = DType::f16;
  std::int64_t extent[2] = {};  // elements side by side, and rows of these
  std::int64_t stride = 0;      // elements from a row to the next
  int box[2] = {};              // elements of a copy, at most 128 bytes side by side, and rows, at most 256
};

}  // namespace tenon::gpu
