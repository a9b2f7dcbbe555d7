// Tests of operators as rows of text: "matmul(%0, %1)" on "f32[2,2] 1 2 3 4".
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/parse.h"

namespace tenon::test {

/// "f32[2,2] 1 2 3 4": a type and its elements; one element fills the tensor. nan, inf and -inf are read.
/// Strings stand between bars: "string[3] one|two words|".
Tensor tensor(const std::string& text);

/// A graph that returns the results of one operator call over %0, %1, ... Types may be followed by elements.
std::unique_ptr<Graph> graph_of(const std::string& call, const std::vector<std::string>& operands,
                                const std::vector<std::string>& results);

/// What is said about a call whose operands or result types are wrong; empty when they are right.
std::string error_of(const std::string& call, const std::vector<std::string>& operands,
                     const std::vector<std::string>& results);

/// The outputs of one operator call.
std::vector<Tensor> run(const std::string& call, const std::vector<std::string>& operands,
                        const std::vector<std::string>& results);

/// Equal types, and elements within `tolerance` (relative and absolute); NaN equals NaN.
void expect_near(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& what);

struct Case {
  std::string call;
  std::vector<std::string> operands;
  std::vector<std::string> expected;
};
/// Each call gives the expected tensors.
void expect_all(const std::vector<Case>& cases, double tolerance = 1e-6);

}  // namespace tenon::test
