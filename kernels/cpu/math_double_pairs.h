// Functions of two doubles without branches, as those of math_double.h.
//
// Largest errors, as in math_double.h: hypot 1.5
#pragma once
#include "kernels/cpu/math_double.h"

namespace tenon::cpu::TENON_ISA {

static TENON_INLINE double double_hypot(double x, double y) {
  const double a = __builtin_fabs(x), b = __builtin_fabs(y), larger = a > b ? a : b;
  const double scale = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-450 ? 0x1p600 : 1;  // of squares
  const double p = scale * a, q = scale * b, length = __builtin_sqrt(p * p + q * q) / scale;
  const bool is_infinite = a > 0x1.fffffffffffffp1023 || b > 0x1.fffffffffffffp1023;  // whatever the other is
  return is_infinite ? __builtin_inf() : length;
}
/// The number beside a on the way to b.
static TENON_INLINE double double_nextafter(double a, double b) {
  const auto bits = __builtin_bit_cast(std::uint64_t, a);
  const std::uint64_t step = (a < b) == (a > 0) ? 1 : ~std::uint64_t{0};
  const double beside = __builtin_bit_cast(double, bits + step);
  const double number = a == 0 ? __builtin_copysign(0x1p-1074, b) : beside;
  return a != a || b != b ? a + b : a == b ? b : number;
}

}  // namespace tenon::cpu::TENON_ISA
