// Operators that compute nothing.
#pragma once
#include "ir/graph.h"

namespace tenon {

/// Is each element of its result one of its first operand's (of a concatenation: of its operands')?
bool moves_elements(const Node&);

}  // namespace tenon
