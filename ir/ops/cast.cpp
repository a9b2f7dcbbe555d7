// The family of casts: everything is in the header.
#include "ir/ops/cast.h"

#include "ir/ops/functions.h"
#include "ir/read_definition.h"

namespace tenon {

Ref cast(DType to, const Ref& x) { return x.dtype() == to ? x : apply(Cast{.to = to}, {x}); }

std::vector<const OpInfo*> cast_ops() { return family(Casts{}); }
}  // namespace tenon
