// 0 times what is not finite is NaN, which no sum loses. Built once per ISA.
#include "kernels/cpu/finite.h"

#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

bool all_finite(const float* values, long count) {
  vf sum[4] = {};
  long i = 0;
  for (; i + 4 * VL <= count; i += 4 * VL) {
    TENON_UNROLL
    for (int u = 0; u < 4; u++) sum[u] += load(values + i + u * VL) * 0.0f;
  }
  for (; i < count; i += VL) {
    const int rest = static_cast<int>(count - i < VL ? count - i : VL);
    sum[0] += load_partial(values + i, rest) * 0.0f;
  }
  return hsum((sum[0] + sum[1]) + (sum[2] + sum[3])) == 0.0f;
}

bool all_finite_halves(const std::uint16_t* values, long count) {
  constexpr std::uint16_t exponent = 0x7f80;
  std::uint16_t found = 0;
  for (long i = 0; i < count; i++) found |= (values[i] & exponent) == exponent;
  return found == 0;
}

}  // namespace tenon::cpu::TENON_ISA
