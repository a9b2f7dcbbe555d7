// The family of operators without operands.
#include "ir/ops/create.h"

#include "ir/ops/cast.h"
#include "ir/read_definition.h"

namespace tenon {

Ref dim_value(const Dim& size, const Ref& like) {
  if (size.is_known()) return like.literal(static_cast<double>(size.value()));
  return cast(like.dtype(), apply(DimValue{.value = size}, like.insertion_point()));
}

std::vector<const OpInfo*> create_ops() { return family(Create{}); }

}  // namespace tenon
