// Products of matrices by the vendor's library (blas.h).
#pragma once
#include <optional>

#include "kernels/gpu/product_source.h"
#include "runtime/gpu/blas.h"
#include "runtime/step.h"

namespace tenon::gpu {

/// A product as the libraries take it, whose matrices lie by columns: the result's rows are such columns.
struct LibraryProduct {
  PlannedTensor left, right, result;  // [rows, depth], [depth, columns], [rows, columns]
  std::optional<PlannedTensor> bias;  // of the columns, side by side
  bool relu = false;                  // behind it
  Product product;
  std::int64_t result_row = 0;  // stride
};

/// Of this dtype the library multiplies matrices, as accurately as kernels of ours do.
bool library_multiplies(DType);
/// The step; null where the library does not open, says that it does not compute this, or a side does not lie
/// as it reads them. It asks for scratch memory.
std::unique_ptr<Step> library_step(Gpu&, LibraryProduct);

}  // namespace tenon::gpu
