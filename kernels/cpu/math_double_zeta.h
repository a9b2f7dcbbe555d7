// Hurwitz's zeta function and trigamma in doubles, as the functions of math_double.h.
//
// Largest errors, as there: trigamma 5 (below 0 of the larger one of the result and 1) · zeta 4 for q > 0
#pragma once
#include <array>

#include "kernels/cpu/math_double_error.h"
#include "kernels/cpu/math_double_power.h"
#include "kernels/cpu/special.h"

namespace tenon::cpu::TENON_ISA {

/// A quotient that is still to be taken.
struct DoubleShare {
  double above, below;
};
static TENON_INLINE DoubleShare operator+(DoubleShare a, DoubleShare b) {
  return {a.above * b.below + b.above * a.below, a.below * b.below};
}
/// The sum of (x + k)^-2 for 1/2 <= x: ten terms, two at a time, then the asymptotic series (DLMF 5.15.8).
static TENON_INLINE double double_trigamma_of_positive(double x) {
  const bool is_small = x < 10;
  const double first = is_small ? x : 1, all = first + 9, product = first * all, sum = first + all;
  const auto pair = [&](double more) __attribute__((always_inline))->DoubleShare {
    const double p = product + more;  // (x + k)(x + 9 - k)
    return {sum * sum - 2 * p, p * p};
  };
  const DoubleShare below = (pair(0) + pair(8)) + ((pair(14) + pair(18)) + pair(20));
  const double inverse = 1 / (is_small ? x + 10 : x), s = inverse * inverse;
  const double series = double_horner(s, 43867.0 / 798, -3617.0 / 510, 7.0 / 6, -691.0 / 2730, 5.0 / 66,
                                      -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6);
  const double far = inverse + (0.5 * s + inverse * s * series);
  return is_small ? far + below.above / below.below : far;
}
/// The same for x < 1/2 that is not whole and at least 2^-500 in magnitude (DLMF 5.15.6).
static TENON_INLINE double double_trigamma_below(double x) {
  const double ratio = double_pi / double_sin(double_pi * double_from_whole(x));
  return ratio * ratio - double_trigamma_of_positive(1 - x);
}

/// |x|^-s, or more roughly for results of f32.
template <bool for_f32>
static TENON_INLINE double double_inverse_power(double x, double s) {
  const double base = __builtin_fabs(x);
  return for_f32 ? double_exp(-s * double_log(base)) : double_power_of_positive(base, -s);
}
/// The sum over k >= 0 of (k + q)^-s for 1 < s < 1000, -50 < q < 2^100 by the formula of Euler and Maclaurin
/// (DLMF 25.11.5) after some terms; s is whole where q is negative, which is not whole then. Of up to
/// special_piece_size numbers; `count` is a multiple of special_padding.
template <bool for_f32>
static TENON_INLINE void double_zeta(double* __restrict out, const double* s, const double* q, long count) {
  const long whole = count / special_padding * special_padding;
  double at[special_piece_size], least = 0;
  for (long i = 0; i < whole; ++i) {
    out[i] = 0;
    at[i] = q[i];
    least = q[i] < least ? q[i] : least;
  }
  const double enough = for_f32 && least == 0 ? 7 : 12;  // terms of both signs leave little
  for (double k = 0; k < enough - least; ++k)
    for (long i = 0; i < whole; ++i) {
      const double power = double_inverse_power<for_f32>(at[i], s[i]);
      const double half = 0.5 * s[i];
      const bool is_odd = (at[i] < 0) & (__builtin_trunc(half) != half);
      out[i] += is_odd ? -power : power;
      at[i] += 1;
    }
  for (long i = 0; i < whole; ++i) {
    const double a = at[i], n = s[i], inverse = 1 / a, square = inverse * inverse;
    const double before = double_inverse_power<for_f32>(a, n - 1), power = before * inverse;
    constexpr std::array bernoulli = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                      5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
    double factor = 0.5 * n * inverse, series = 0.5;
    const auto add = [&]<std::size_t... J>(std::index_sequence<J...>) __attribute__((always_inline)) {
      ((series += bernoulli[J] * factor,
        factor *= (n + (2 * J + 1)) * (n + (2 * J + 2)) * (1.0 / ((2 * J + 3.0) * (2 * J + 4))) * square),
       ...);
    };
    add(std::make_index_sequence < for_f32 ? 4 : 8 > {});
    out[i] += before / (n - 1) + power * series;
  }
}

}  // namespace tenon::cpu::TENON_ISA
