// A stored output that differs, in words and for programs.
#pragma once
#include "check/result.h"
#include "verify/outputs.h"

namespace tenon {

/// What is wrong with an output: where the largest error is and how large, how many elements are beyond the
/// tolerance, how the errors spread, what tolerance would accept them. nullopt when nothing is.
std::optional<Failure> compare_output(const std::string& sample, const std::string& output,
                                      const Tensor& value, const Tensor& expected,
                                      const Tolerance& tolerance);

}  // namespace tenon
