// Where a rewrite may change the last bits of a number, and where it may not.
#pragma once
#include "ir/graph.h"

namespace tenon {

/// Do whole numbers, truths or 8-bit floats depend on the last bits of the value? Its readers are followed
/// through pointwise operators and those that move elements: floor(x / 41) does, exp(x / 41) does not.
bool last_bits_decide(const Value*);

}  // namespace tenon
