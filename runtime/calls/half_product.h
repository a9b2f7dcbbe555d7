// Products of 16-bit floats with a vector, whatever the device.
#pragma once
#include "ir/graph.h"

namespace tenon {

/// Is this a matmul or a linear of matrices of f16 or bf16 with one column each? It reads each element once,
/// so that casting them to float32 first would take longer than the product.
bool multiplies_halves_by_vector(const Node& node);

}  // namespace tenon
