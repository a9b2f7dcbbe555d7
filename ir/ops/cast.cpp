// The family of casts: everything is in the header.
#include "ir/ops/cast.h"

#include "ir/read_definition.h"

namespace tenon {
std::vector<const OpInfo*> cast_ops() { return family(Casts{}); }
}  // namespace tenon
