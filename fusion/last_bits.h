// Where a rewrite may change the last bits of a number, and where it may not.
#pragma once
#include "ir/graph.h"

namespace tenon {

/// May whole numbers, truths or 8-bit floats depend on the last bits of the value? Its readers are followed
/// through pointwise operators and those that move elements or choose among them: in floor(x / 41) and
/// argmax(x / 41) they do, in exp(x / 41) they do not. What regions of `if` and `loop` read or give may.
bool last_bits_decide(const Value*);

}  // namespace tenon
