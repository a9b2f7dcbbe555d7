// Weights as 16-bit floats beside the float32 ones.
#pragma once
#include <string>

#include "ir/build.h"

namespace tenon {

/// Why a float32 weight is not held in 16 bits: "@w has an element that f16 cannot hold"; empty: nothing
/// speaks against it.
std::string half_refusal(const Value& weight, DType half);
/// The weight in 16 bits, named "w.bf16": the same one for the same weight.
Ref half_weight(const Value& weight, DType half, const InsertionPoint& point);

}  // namespace tenon
