// Numbers of tensors as JSON.
#pragma once
#include <complex>
#include <nlohmann/json.hpp>

namespace tenon {

/// A real number, or [real, imaginary].
inline nlohmann::json number_json(std::complex<double> number, bool is_complex) {
  if (is_complex) return {number.real(), number.imag()};
  return number.real();
}

}  // namespace tenon
