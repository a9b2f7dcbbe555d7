// erfinv and digamma, which the C++ library does not have.
#include "base/scalar.h"

#include <numbers>

namespace tenon {

double erfinv(double x) {
  const double magnitude = std::fabs(x);
  if (std::isnan(x) || magnitude > 1) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
  // Start from Winitzki's closed form (relative error 2e-3), then Halley's steps, which triple the digits.
  constexpr double a = 0.147;
  const double log_term = std::log1p(-x * x);
  const double middle = 2 / (std::numbers::pi * a) + log_term / 2;
  const double squared = std::sqrt(middle * middle - log_term / a) - middle;
  double y = std::sqrt(std::max(squared, 0.0));
  if (magnitude < 1e-8) return x * std::sqrt(std::numbers::pi) / 2;
  for (int step = 0; step < 3; ++step) {
    // 1 - |x| is exact where |x| >= 0.5, and erfc keeps its digits in the tail, where erf has none left.
    const double error = magnitude < 0.5 ? std::erf(y) - magnitude : (1 - magnitude) - std::erfc(y);
    const double slope = 2 / std::sqrt(std::numbers::pi) * std::exp(-y * y);
    const double newton = error / slope;
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x == -std::numeric_limits<double>::infinity()) return std::numeric_limits<double>::quiet_NaN();
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    const double fraction = x - std::floor(x);  // tan(pi x) has period 1
    return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * fraction);
  }
  double shifted = 0;  // psi(x) = psi(x + 1) - 1 / x, up to where the asymptotic series has full precision
  for (; x < 10; x += 1) shifted -= 1 / x;
  if (std::isinf(x)) return x;
  // log x - 1/(2x) - sum B_2k / (2k x^2k)
  const double s = 1 / (x * x);
  const double series =
      s * (1.0 / 12 -
           s * (1.0 / 120 -
                s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s * (1.0 / 12)))))));
  return shifted + std::log(x) - 0.5 / x - series;
}

}  // namespace tenon
