#include "ir/narrow.h"

#include <cmath>
#include <limits>

namespace tenon {

double NarrowFormat::value(unsigned code) const {
  const unsigned sign_bit = 1u << (bits - 1);
  const bool is_negative = is_signed && (code & sign_bit) != 0;
  if (!is_float()) return is_negative ? static_cast<int>(code) - (1 << bits) : static_cast<int>(code);
  const unsigned codes = is_signed ? sign_bit : 1u << bits;  // of magnitudes
  const unsigned magnitude = code & (codes - 1);
  const unsigned power = magnitude >> mantissa, digits = magnitude & ((1u << mantissa) - 1);
  const double sign = is_negative ? -1 : 1;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (specials == nan_at_minus_zero && code == sign_bit) return nan;
  if (specials == nan_at_end && magnitude == codes - 1) return nan;
  if (specials == ieee && power == (1u << exponent) - 1)
    return digits ? nan : sign * std::numeric_limits<double>::infinity();
  if (is_power()) return std::ldexp(1, static_cast<int>(power) - bias);
  const double fraction = static_cast<double>(digits) / (1 << mantissa);
  return power == 0 ? sign * std::ldexp(fraction, least_exponent())
                    : sign * std::ldexp(1 + fraction, static_cast<int>(power) - bias);
}

double NarrowFormat::largest() const {
  if (!is_float()) return (1 << (is_signed ? bits - 1 : bits)) - 1;
  unsigned code = (1u << (is_signed ? bits - 1 : bits)) - 1;
  while (!std::isfinite(value(code))) --code;
  return value(code);
}

double NarrowFormat::least() const {
  if (is_power()) return value(0);
  if (is_float()) return -largest();
  return is_signed ? -(1 << (bits - 1)) : 0;
}

}  // namespace tenon
