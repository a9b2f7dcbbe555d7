// The four 8-bit float formats as storage types: they convert to and from float, and hold no arithmetic.
#pragma once
#include <bit>
#include <cstdint>

namespace tenon {

/// Which codes of an 8-bit format are no finite number, and what becomes of a float beyond the largest one.
enum class Float8Specials : std::uint8_t {
  ieee,    // the largest exponent holds infinities and NaN; beyond is infinite
  finite,  // the codes 0x7f and 0xff are NaN; beyond and infinite is the largest number, as in PyTorch 2.13
  unsigned_zero,  // the code that would be -0 is NaN, the only one; beyond and infinite is NaN
};

/// A sign, an exponent with this bias, and Mantissa bits. Conversion from float rounds to nearest even.
template <int Mantissa, int Bias, Float8Specials Specials>
struct Float8 {
  std::uint8_t bits = 0;
  Float8() = default;
  constexpr Float8(float f) : bits(from_float(f)) {}
  constexpr operator float() const { return to_float(bits); }

  static constexpr int mantissa = Mantissa;
  static constexpr int bias = Bias;
  static constexpr Float8Specials specials = Specials;
  /// The codes of the largest finite number, of what lies beyond it, and of NaN; all without a sign.
  static constexpr std::uint32_t largest = Specials == Float8Specials::ieee     ? 0x7bu
                                           : Specials == Float8Specials::finite ? 0x7eu
                                                                                : 0x7fu;
  static constexpr std::uint32_t beyond = Specials == Float8Specials::ieee     ? 0x7cu
                                          : Specials == Float8Specials::finite ? 0x7eu
                                                                               : 0x80u;
  static constexpr std::uint32_t nan = Specials == Float8Specials::unsigned_zero ? 0x80u : 0x7fu;

  /// A float's bits hold a code's magnitude after a shift by this; their exponent's bias is larger by that.
  static constexpr int shift = 23 - Mantissa;
  static constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - Bias) << 23;
  /// As floats' bits: the smallest normal number, and the power of two whose last bit is the smallest number.
  static constexpr std::uint32_t least_normal = static_cast<std::uint32_t>(128 - Bias) << 23;
  static constexpr std::uint32_t subnormal_unit = static_cast<std::uint32_t>(128 - Bias + shift) << 23;

  static constexpr std::uint8_t from_float(float f) {
    const std::uint32_t x = std::bit_cast<std::uint32_t>(f);
    const std::uint32_t sign = (x >> 24) & 0x80u;
    const std::uint32_t mag = x & 0x7fffffffu;
    std::uint32_t code = 0;
    if (mag < least_normal)
      code = std::bit_cast<std::uint32_t>(std::bit_cast<float>(mag) + std::bit_cast<float>(subnormal_unit)) -
             subnormal_unit;
    else
      code = (mag + ((1u << (shift - 1)) - 1u) + ((mag >> shift) & 1u) - rebias) >> shift;
    if (code > largest) code = beyond;
    if (mag > 0x7f800000u) code = nan;
    const bool has_sign = Specials != Float8Specials::unsigned_zero || (code != 0 && code != nan);
    return static_cast<std::uint8_t>(has_sign ? sign | code : code);
  }
  static constexpr float to_float(std::uint8_t code) {
    const std::uint32_t sign = (code & 0x80u) << 24;
    const std::uint32_t mag = code & 0x7fu;
    if (Specials == Float8Specials::unsigned_zero && code == 0x80u) return std::bit_cast<float>(0x7fc00000u);
    if (Specials != Float8Specials::unsigned_zero && mag > largest)
      return std::bit_cast<float>(sign | 0x7f800000u | (mag == beyond ? 0u : 0x400000u));
    if (mag >> Mantissa) return std::bit_cast<float>(sign | ((mag << shift) + rebias));
    const float sub = static_cast<float>(mag) * std::bit_cast<float>(subnormal_unit - (23u << 23));
    return sign ? -sub : sub;
  }
};

using Float8E4M3FN = Float8<3, 7, Float8Specials::finite>;
using Float8E5M2 = Float8<2, 15, Float8Specials::ieee>;
using Float8E4M3FNUZ = Float8<3, 8, Float8Specials::unsigned_zero>;
using Float8E5M2FNUZ = Float8<2, 16, Float8Specials::unsigned_zero>;

}  // namespace tenon
