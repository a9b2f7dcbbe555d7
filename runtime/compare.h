// How far two tensors are apart.
#pragma once
#include <complex>
#include <string>

#include "ir/tensor.h"

namespace tenon {

struct Difference {
  bool comparable = true;       // same shape, and both or none are strings
  double max_error = 0;         // largest |a - b|; infinity where only one is NaN or an infinity differs
  double scale = 0;             // largest |b| among finite elements
  std::int64_t elements = 0;    // of each
  std::int64_t compared = 0;    // pairs of finite numbers, or of strings: a NaN beside a NaN says nothing
  std::int64_t infinities = 0;  // pairs of the same infinity
  bool exact = false;           // both are integers, bools or strings: any difference counts
  Index worst;                  // where the largest error is
  std::complex<double> value, expected;  // the elements there
  bool is_complex = false;               // else they are real
  std::string text, expected_text;       // the same of strings, quoted; empty otherwise
  double cosine = 1;                     // of the two as vectors

  /// max_error as a share of scale; absolute when the reference is all zero.
  double relative() const;
  /// Never for an infinite error.
  bool within(double tolerance) const;
  /// The elements at the largest error, as text.
  std::string value_str() const;
  std::string expected_str() const;
  /// "max error 1.2e-06 of 12.3 (relative 9.8e-08) at [0,5]", "equal", "nothing was compared: every value is
  /// NaN"
  std::string str() const;
  /// Why nothing was compared, in words: "every value is NaN". Empty: something was.
  std::string why_nothing() const;
};

/// |x - y|: 0 where both are NaN or the same infinity, infinity where one alone is. A complex number is NaN
/// where a part of it is.
double error_between(double x, double y);
double error_between(std::complex<double> x, std::complex<double> y);

/// A number as messages show it, to so many digits: "1.5", "1.5-2i".
std::string number_str(std::complex<double>, bool is_complex, int digits = 8);

/// a against the reference b, floats in double, complex numbers as points of the plane: |a - b| is their
/// distance. NaN equals NaN, an infinity equals the same infinity.
/// Strings are at a distance of 1 where they differ. What is equal without a pair that was compared is no
/// proof of anything: whoever calls it equal asks for `compared` too (verify/verdict.h).
Difference compare(const Tensor& a, const Tensor& b);

}  // namespace tenon
