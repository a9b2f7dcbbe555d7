// The family of activation functions: everything is in the header.
#include "ir/ops/activation.h"

#include "ir/ops/functions.h"
#include "ir/read_definition.h"

namespace tenon {

Ref relu(const Ref& x) { return apply(Relu{}, {x}); }
Ref sigmoid(const Ref& x) { return apply(Sigmoid{}, {x}); }
Ref silu(const Ref& x) { return apply(Silu{}, {x}); }

std::vector<const OpInfo*> activation_ops() { return family(Activation{}); }
}  // namespace tenon
