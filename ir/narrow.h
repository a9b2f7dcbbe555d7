// Number formats of less than 16 bits, which are held in wider dtypes.
#pragma once
#include <cstdint>

namespace tenon {

/// What the bits mean. Floats have a sign, an exponent and a mantissa; whole numbers have no exponent. A
/// float without a sign and a mantissa is a power of two, never zero.
struct NarrowFormat {
  int bits = 0, exponent = 0, mantissa = 0, bias = 0;
  bool is_signed = true;
  /// Which codes of a float are no finite number.
  enum Specials : std::uint8_t {
    none,
    ieee,               // infinity and NaN, in the largest exponent
    nan_at_end,         // the codes of the largest magnitude
    nan_at_minus_zero,  // the code that would be -0
  } specials = none;

  bool is_float() const { return exponent > 0; }
  bool is_power() const { return is_float() && !is_signed && mantissa == 0; }
  double value(unsigned code) const;
  /// The largest finite value; of whole numbers the least one too.
  double largest() const;
  double least() const;
  /// Of the smallest normal number.
  int least_exponent() const { return is_power() ? -bias : 1 - bias; }
};

}  // namespace tenon
