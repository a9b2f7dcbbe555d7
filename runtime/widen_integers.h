// Operators of bools and short integers on kernels of i32 and i64.
#pragma once
#include "ir/graph.h"

namespace tenon {

struct Device;

/// Products and convolutions of bools and of integers that are neither i32 nor i64, and indices of one-hot
/// rows, are cast to these where the device has kernels for them alone (OpLowering::widens): their low bits
/// are those of wider sums and products. Results are cast back. Groups that hold one are taken apart.
void widen_integers(Graph& graph, const Device& device);

}  // namespace tenon
