// The family of arithmetic: everything is in the header.
#include "ir/ops/arithmetic.h"

#include "ir/read_definition.h"

namespace tenon {
std::vector<const OpInfo*> arithmetic_ops() { return family(Arithmetic{}); }
}  // namespace tenon
