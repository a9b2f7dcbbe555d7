// Joins of 16-bit floats at few places, whatever the device.
#pragma once
#include "ir/graph.h"

namespace tenon {

/// Does this node join elements of f16 or bf16 with so few others that casting them all to float32 and back
/// would take longer than the joins? Not where it takes means.
bool joins_few_halves(const Node& node);

}  // namespace tenon
