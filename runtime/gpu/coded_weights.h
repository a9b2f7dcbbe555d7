// Weights that stay in 8 or 4 bits on a GPU.
#pragma once
#include <optional>

#include "kernels/gpu/product_codes.h"
#include "runtime/calls/quantized_matmul.h"

namespace tenon::gpu {

/// A product whose right side the kernels read in codes.
struct CodedCall {
  QuantizedMatmulCall call;
  ProductCodes codes;

  /// nullopt where the group is no such product of f16, bf16, f32 or i32, or groups of depths share a scale
  /// that are no multiples of coded_row_count.
  static std::optional<CodedCall> match(const Planner&, const Group&);
  std::int64_t bytes() const { return codes.bytes(call.matrix.N(), call.matrix.K()); }
  /// The matrix, as ProductCodes has it.
  PlannedTensor weights(Planner&) const;
};

}  // namespace tenon::gpu
