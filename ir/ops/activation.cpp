// The family of activation functions: everything is in the header.
#include "ir/ops/activation.h"

#include "ir/read_definition.h"

namespace tenon {
std::vector<const OpInfo*> activation_ops() { return family(Activation{}); }
}  // namespace tenon
