// Powers of two that bring rows and columns to a largest number of 1 to 2. Magnitudes are compared as bits:
// those of infinities and NaN are above all others. Per-ISA code.
#pragma once
#include "kernels/cpu/simd.h"
#include "kernels/cpu/strassen.h"

namespace tenon::cpu::TENON_ISA {

constexpr std::int32_t exponent_bias = 127, mantissa_bits = 23, most_exponent = 100;

static TENON_INLINE vi magnitude(vf x) { return bits(x) & 0x7fffffff; }
[[maybe_unused]] static TENON_INLINE std::int32_t magnitude(float x) {
  return __builtin_bit_cast(std::int32_t, x) & 0x7fffffff;
}

[[maybe_unused]] static TENON_INLINE float power_of_two(std::int32_t exponent) {
  return __builtin_bit_cast(float, (exponent + exponent_bias) << mantissa_bits);
}
static TENON_INLINE std::int32_t exponent_of(std::int32_t magnitude) {
  return (magnitude >> mantissa_bits) - exponent_bias;
}

// The least magnitude that is near this one, but for zero.
static TENON_INLINE std::int32_t least_near_of(std::int32_t largest) {
  const std::int32_t least = largest - (strassen_near_bits << mantissa_bits);
  return least > 1 ? least : 1;
}

}  // namespace tenon::cpu::TENON_ISA
