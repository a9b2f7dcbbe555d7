// The family of operators without operands.
#include "ir/ops/create.h"

#include "ir/ops/functions.h"
#include "ir/read_definition.h"

namespace tenon {

Ref dim_value(const Dim& size, const Ref& like) {
  if (size.is_known()) return like.literal(static_cast<double>(size.value()));
  return cast(like.dtype(), apply(DimValue{.value = size}, like.insertion_point()));
}

Ref full(Shape shape, double value, DType dtype, const InsertionPoint& point) {
  return apply(Full{.shape = std::move(shape), .value = value, .dtype = dtype}, point);
}
Ref iota(Dim size, const InsertionPoint& point, DType dtype) {
  return apply(Iota{.size = std::move(size), .dtype = dtype}, point);
}

std::vector<const OpInfo*> create_ops() { return family(Create{}); }

}  // namespace tenon
