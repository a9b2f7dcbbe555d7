// Pointwise functions that no loop has: a thread computes one element of the result.
#pragma once
#include "base/special_meaning.h"
#include "kernels/gpu/loop_values.gpu.h"

namespace tenon::gpu {

constexpr int pointwise_rank = 8;

/// Sizes and strides (0 where an operand is repeated) of two operands; the result is dense.
struct PointwiseShape {
  Int count, sizes[pointwise_rank], of_a[pointwise_rank], of_b[pointwise_rank];
};

/// Where the operands of an element of the result lie.
struct PointwisePlace {
  Int a = 0, b = 0;

  GPU_INLINE PointwisePlace(const PointwiseShape& s, Int index) {
    for (int axis = pointwise_rank - 1; axis >= 0; --axis) {
      if (s.sizes[axis] == 1) continue;
      const Int i = index % s.sizes[axis];
      index /= s.sizes[axis];
      a += i * s.of_a[axis];
      b += i * s.of_b[axis];
    }
  }
};

}  // namespace tenon::gpu
