// Which products keep their weights in integers.
#pragma once
#include "runtime/planner.h"

namespace tenon {

/// True for a group whose right side is a matrix of 8- or 4-bit integers, which quantized_matmul.cpp
/// computes: kernels of float32 leave it alone, so that no copy in float32 is made.
bool has_quantized_kernel(const Planner& planner, const Group& group);

}  // namespace tenon
