#include "runtime/calls/half_product.h"

#include "ir/ops/linear.h"

namespace tenon {

bool multiplies_halves_by_vector(const Node& node) {
  if (!node.is<MatMul>() && !node.is<Linear>()) return false;
  const Value* result = node.output();
  const bool is_half = result->dtype() == DType::f16 || result->dtype() == DType::bf16;
  return is_half && result->rank() >= 2 && result->shape().back() == 1;
}

}  // namespace tenon
