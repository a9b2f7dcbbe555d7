// The family of arithmetic: everything is in the header.
#include "ir/ops/arithmetic.h"

#include "ir/ops/families.h"

namespace tenon {
std::vector<const OpInfo*> arithmetic_ops() { return family(Arithmetic{}); }
}  // namespace tenon
