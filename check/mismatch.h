// A stored output that differs, in words and for programs.
#pragma once
#include "check/result.h"
#include "verify/outputs.h"

namespace tenon {

/// What is wrong with an output that was checked with this tolerance: where the largest error is and how
/// large, how many elements are beyond the tolerance, how the errors spread, what tolerance would accept
/// them. nullopt when nothing is.
std::optional<Failure> failure_of(const OutputCheck&, const std::string& sample, const Tensor& value,
                                  const Tensor& expected, const Tolerance& tolerance);

}  // namespace tenon
