// The regularised incomplete gamma functions in doubles, of many numbers at once: each group of lanes goes on
// until all of its sums have converged, so that there are loops without branches in them.
#pragma once
#include "kernels/cpu/math_double_error.h"

namespace tenon::cpu::TENON_ISA {

/// Numbers that are computed together.
inline constexpr long gamma_lanes = 8;

/// sum over k >= 0 of x^k / (a (a + 1) ... (a + k)) (DLMF 8.7.1), for x < a + 1, of gamma_lanes numbers;
/// `least` is the share of the sum that is left out.
static TENON_INLINE void gamma_series(double* sums, const double* a, const double* x, double least) {
  double terms[gamma_lanes], divisors[gamma_lanes];
  for (long i = 0; i < gamma_lanes; ++i) {
    divisors[i] = a[i];
    sums[i] = terms[i] = 1 / a[i];
  }
  constexpr int together = 4;
  for (long left = gamma_lanes; left > 0;) {
    for (int step = 0; step < together; ++step)
      for (long i = 0; i < gamma_lanes; ++i) {
        divisors[i] += 1;
        terms[i] *= x[i] / divisors[i];
        sums[i] += terms[i];
      }
    left = 0;
    for (long i = 0; i < gamma_lanes; ++i) left += terms[i] > least * sums[i] ? 1 : 0;
  }
}

/// The continued fraction 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / ...)) (DLMF 8.9.2), for x >=
/// a + 1: the numerators and denominators of its convergents, both divided by the denominator every few
/// steps.
static TENON_INLINE void gamma_fraction(double* fractions, const double* a, const double* x, double least) {
  double above[gamma_lanes], above_before[gamma_lanes], below[gamma_lanes], below_before[gamma_lanes];
  for (long i = 0; i < gamma_lanes; ++i) {
    above[i] = 1, above_before[i] = 0;
    below[i] = x[i] + 1 - a[i], below_before[i] = 1;
    fractions[i] = 0;
  }
  constexpr int together = 4;
  const double near = 16 * least;
  double k = 0;
  for (long left = gamma_lanes; left > 0 && k < 10000;) {
    for (int step = 0; step < together; ++step) {
      k += 1;
      for (long i = 0; i < gamma_lanes; ++i) {
        const double numerator = k * (a[i] - k), denominator = x[i] + 1 - a[i] + 2 * k;
        const double next_above = denominator * above[i] + numerator * above_before[i];
        const double next_below = denominator * below[i] + numerator * below_before[i];
        above_before[i] = above[i], above[i] = next_above;
        below_before[i] = below[i], below[i] = next_below;
      }
    }
    left = 0;
    for (long i = 0; i < gamma_lanes; ++i) {
      const double scale = 1 / below[i];
      above[i] *= scale, above_before[i] *= scale, below_before[i] *= scale;
      below[i] = 1;
      left += __builtin_fabs(above[i] - fractions[i]) > near * above[i] ? 1 : 0;
      fractions[i] = above[i];
    }
  }
}

}  // namespace tenon::cpu::TENON_ISA
