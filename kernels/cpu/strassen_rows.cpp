// Rows of the sums that Strassen's method multiplies, and of those that it makes of products. Built once per
// ISA.
#include "kernels/cpu/simd.h"
#include "kernels/cpu/strassen.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr std::int32_t exponent_bias = 127, mantissa_bits = 23, most_exponent = 100;

float power_of_two(std::int32_t exponent) {
  return __builtin_bit_cast(float, (exponent + exponent_bias) << mantissa_bits);
}

// A row's exponent: that of its largest number.
struct Largest {
  vi bits_of_lanes{};
  std::int32_t bits_of_rest = 0;

  void add(const float* row, long count) {
    long k = 0;
    for (; k + VL <= count; k += VL) {
      const vi magnitude = bits(load(row + k)) & 0x7fffffff;
      bits_of_lanes = bits_of_lanes > magnitude ? bits_of_lanes : magnitude;
    }
    for (; k < count; k++) {
      const std::int32_t magnitude = __builtin_bit_cast(std::int32_t, row[k]) & 0x7fffffff;
      bits_of_rest = bits_of_rest > magnitude ? bits_of_rest : magnitude;
    }
  }
  std::int32_t exponent() const {
    std::int32_t largest = bits_of_rest;
    for (int i = 0; i < VL; i++) largest = largest > bits_of_lanes[i] ? largest : bits_of_lanes[i];
    if (largest == 0) return 0;
    const std::int32_t exponent = (largest >> mantissa_bits) - exponent_bias;
    return exponent > -most_exponent ? exponent : -most_exponent;
  }
};

// Four quarters' elements k of both rows, to element k of the seven sums.
template <class V, class Load, class Store>
TENON_INLINE void write_sums(const Load& at, const Store& put, V up, V low, V un_up, V un_low) {
  const V a11 = at(0) * up, a12 = at(1) * up, a21 = at(2) * low, a22 = at(3) * low;
  put(0, a11 + a22);
  put(1, a21 + a22);
  put(2, a11);
  put(3, a22);
  put(4, a11 + a12);
  put(5, (a12 - a22) * un_up);
  put(6, (a21 - a11) * un_low);
}

}  // namespace

bool form_strassen_sums(const StrassenRows& r) {
  Largest upper, lower;
  upper.add(r.upper, 2 * r.half_depth);
  if (r.lower) lower.add(r.lower, 2 * r.half_depth);
  const std::int32_t up_exponent = upper.exponent(), low_exponent = lower.exponent();
  if (up_exponent > most_exponent || low_exponent > most_exponent) return false;
  const float up = power_of_two(-up_exponent), low = power_of_two(-low_exponent);
  r.unscale[0] = power_of_two(up_exponent);
  r.unscale[1] = power_of_two(low_exponent);
  const long half = r.half_depth;
  long k = 0;
  for (; k + VL <= half; k += VL) {
    write_sums<vf>(
        [&](int quarter) __attribute__((always_inline)) {
          const float* const row = quarter < 2 ? r.upper : r.lower;
          return row ? load(row + quarter % 2 * half + k) : vf{};
        },
        [&](int sum, vf x) __attribute__((always_inline)) { store(r.sums + sum * r.sum_distance + k, x); },
        broadcast(up), broadcast(low), broadcast(r.unscale[0]), broadcast(r.unscale[1]));
  }
  for (; k < half; k++) {
    write_sums<float>(
        [&](int quarter) {
          const float* const row = quarter < 2 ? r.upper : r.lower;
          return row ? row[quarter % 2 * half + k] : 0.0f;
        },
        [&](int sum, float x) { r.sums[sum * r.sum_distance + k] = x; }, up, low, r.unscale[0], r.unscale[1]);
  }
  return true;
}

void join_strassen_row(const StrassenJoin& j) {
  const vf up = broadcast(j.row_unscale[0]), low = broadcast(j.row_unscale[1]);
  for (long n = 0; n < j.cols; n += VL) {
    float* const p = j.products + n;
    const long d = j.product_distance;
    const vf m1 = load(p), m2 = load(p + d), m3 = load(p + 2 * d), m4 = load(p + 3 * d), m5 = load(p + 4 * d);
    const vf left = load(j.left_unscale + n), right = load(j.right_unscale + n);
    store(p, (m1 + m4 - m5) * up * left);
    store(p + d, (m1 - m2 + m3) * low * right);
    store(p + 2 * d, (m3 + m5) * up * right);
    store(p + 3 * d, (m2 + m4) * low * left);
  }
}

}  // namespace tenon::cpu::TENON_ISA
