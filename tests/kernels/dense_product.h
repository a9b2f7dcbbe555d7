// Products of matrices without gaps, for tests.
#pragma once
#include "kernels/gpu/product_source.h"

namespace tenon::gpu {

/// Row-major times row-major or, as a layer's weights lie, times column-major.
inline Product dense_product(std::int64_t rows, std::int64_t columns, std::int64_t depth, DType dtype,
                             bool right_is_transposed) {
  return {.left_type = dtype,
          .right_type = dtype,
          .rows = rows,
          .columns = columns,
          .depth = depth,
          .left_row = depth,
          .left_column = 1,
          .right_row = right_is_transposed ? 1 : columns,
          .right_column = right_is_transposed ? depth : 1};
}

}  // namespace tenon::gpu
