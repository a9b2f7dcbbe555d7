// The family of functions of real numbers: everything is in the header.
#include "ir/ops/math.h"

#include "ir/read_definition.h"

namespace tenon {
std::vector<const OpInfo*> math_ops() { return family(Math{}); }
}  // namespace tenon
