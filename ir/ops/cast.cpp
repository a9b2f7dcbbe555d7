// The family of casts: everything is in the header.
#include "ir/ops/cast.h"

#include "ir/ops/families.h"

namespace tenon {
std::vector<const OpInfo*> cast_ops() { return family(Casts{}); }
}  // namespace tenon
