// Bessel functions and quantiles in doubles without branches, as the functions of math_double.h.
//
// Largest errors, as there: i0, i0e, i1, i1e 4 for |x| < 30 · ndtri 4 for 2^-52 < x < 1
#pragma once
#include <array>

#include "kernels/cpu/math_double_error.h"

namespace tenon::cpu::TENON_ISA {

/// 1 / (k! (k + order)!), the coefficients of I_order(x) = (x/2)^order sum of c_k (x^2/4)^k (DLMF 10.25.2).
template <int order, int count>
constexpr std::array<double, count> bessel_series = [] {
  std::array<double, count> c{};
  double term = 1;
  for (int k = 0; k < count; ++k, term /= static_cast<double>(k) * (k + order))
    c[static_cast<std::size_t>(k)] = term;
  return c;
}();
/// I_order(x), or exp(-|x|) times that, for |x| < bound: all terms have one sign.
template <int order, bool scaled, int bound>
static TENON_INLINE double double_bessel_i(double x) {
  constexpr std::size_t count = bound <= 8 ? 26 : 48;  // what is left is less than the last place
  const double z = 0.25 * x * x;
  double sum = 0;
  const auto add = [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    ((sum = sum * z + bessel_series<order, count>[count - 1 - I]), ...);
  };
  add(std::make_index_sequence<count>{});
  const double value = order == 1 ? 0.5 * x * sum : sum;
  return scaled ? value * double_exp_of_normal(-__builtin_fabs(x)) : value;
}

/// The inverse of the normal distribution function, for 0 < p < 1: sqrt(2) erfinv(2 p - 1), where the smaller
/// one of p and 1 - p keeps its digits. Near: it is at least 2^-11; else it is at least 2^-52.
template <bool near>
static TENON_INLINE double double_ndtri(double p) {
  const double tail = p < 0.5 ? p : 1 - p, twice = 2 * tail, x = 2 * p < 1 ? twice - 1 : 1 - twice;
  const double w = -double_log(twice * (2 - twice));
  const double of_near = double_erfinv_near(x, w);
  if constexpr (near) return 0x1.6a09e667f3bcdp0 * of_near;
  const double of_far = double_erfinv_far(x, w);
  return 0x1.6a09e667f3bcdp0 * (w < nearest_erfinv ? of_near : of_far);
}

}  // namespace tenon::cpu::TENON_ISA
