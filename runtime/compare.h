// How far two tensors are apart.
#pragma once
#include <string>

#include "ir/tensor.h"

namespace tenon {

struct Difference {
  bool comparable = true;           // same shape, and both or none are strings
  double max_error = 0;             // largest |a - b|; infinity where only one is NaN or an infinity differs
  double scale = 0;                 // largest |b| among finite elements
  bool meaningful = true;           // b is empty or has a finite element
  bool exact = false;               // both are integers, bools or strings: any difference counts
  Index worst;                      // where the largest error is
  double value = 0, expected = 0;   // the elements there
  std::string text, expected_text;  // the same of strings, quoted; empty otherwise
  double cosine = 1;                // of the two as vectors

  /// max_error as a share of scale; absolute when the reference is all zero.
  double relative() const;
  /// Never for an infinite error.
  bool within(double tolerance) const;
  /// The elements at the largest error, as text.
  std::string value_str() const;
  std::string expected_str() const;
  /// "max error 1.2e-06 of 12.3 (relative 9.8e-08) at [0,5]"
  std::string str() const;
};

/// a against the reference b, floats in double. NaN equals NaN, an infinity equals the same infinity.
/// Strings are at a distance of 1 where they differ.
Difference compare(const Tensor& a, const Tensor& b);

}  // namespace tenon
