// The two 16-bit float formats as storage types: they convert to and from float, and hold no arithmetic.
#pragma once
#include <bit>
#include <cstdint>

namespace tenon {

/// IEEE 754 binary16. Conversion from float rounds to nearest even.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  Half(float f) : bits(from_float(f)) {}
  operator float() const { return to_float(bits); }

  static std::uint16_t from_float(float f) {
    const std::uint32_t x = std::bit_cast<std::uint32_t>(f);
    const std::uint32_t sign = (x >> 16) & 0x8000u;
    const std::uint32_t mag = x & 0x7fffffffu;
    if (mag > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);   // NaN
    if (mag >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to infinity
    if (mag < 0x38800000u) {                                                    // subnormal or zero
      const float scaled = std::bit_cast<float>(mag) + 0.5f;  // 0.5 has the ulp of the smallest half
      return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(scaled) - 0x3f000000u));
    }
    const std::uint32_t rounded = mag + 0xfffu + ((mag >> 13) & 1u) - 0x38000000u;
    return static_cast<std::uint16_t>(sign | (rounded >> 13));
  }
  static float to_float(std::uint16_t h) {
    const std::uint32_t sign = (h & 0x8000u) << 16;
    const std::uint32_t mag = h & 0x7fffu;
    if (mag >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((mag & 0x3ffu) << 13));
    if (mag >= 0x400u) return std::bit_cast<float>(sign | ((mag << 13) + 0x38000000u));
    const float sub = static_cast<float>(mag) * 0x1p-24f;
    return sign ? -sub : sub;
  }
};

/// The upper half of a float. Conversion from float rounds to nearest even.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float f) : bits(from_float(f)) {}
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

  static std::uint16_t from_float(float f) {
    const std::uint32_t x = std::bit_cast<std::uint32_t>(f);
    if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((x >> 16) | 0x40u);
    return static_cast<std::uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
  }
};

}  // namespace tenon
