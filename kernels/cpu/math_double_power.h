// Powers of doubles, without branches, as math_double.h: by logarithms of twice as many digits, since a large
// exponent uses up those of one double. The coefficients come from fit_math.py.
//
// Largest error, as in math_double.h: pow 1.2
#pragma once
#include "kernels/cpu/math_double.h"

namespace tenon::cpu::TENON_ISA {

/// A number as a double and what it leaves out.
struct TwoDoubles {
  double high, low;
};
/// a b, exactly; |a|, |b| < 2^500.
static TENON_INLINE TwoDoubles exact_product(double a, double b) {
  const double product = a * b;
#ifdef __FMA__
  return {product, __builtin_fma(a, b, -product)};
#else
  const auto upper = [](double x) {  // its upper 26 bits
    const double scaled = x * 0x1.0000002p27;
    return scaled - (scaled - x);
  };
  const double a1 = upper(a), a2 = a - a1, b1 = upper(b), b2 = b - b1;
  return {product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
#endif
}
/// a + b where |a| >= |b| or a is 0.
static TENON_INLINE TwoDoubles sum_of_larger(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
static TENON_INLINE TwoDoubles product_of(TwoDoubles a, TwoDoubles b) {
  const TwoDoubles product = exact_product(a.high, b.high);
  return {product.high, product.low + (a.high * b.low + a.low * b.high)};
}

/// log2(x) for positive finite x: n + 2 artanh(s) / ln 2 with s = f / (2 + f), whose first two terms have all
/// digits.
static TENON_INLINE TwoDoubles double_log2_of_positive(double x) {
  const DoubleLogParts parts = double_log_parts(x);
  const TwoDoubles divisor = sum_of_larger(2, parts.f);
  const double inverse = 1 / divisor.high, quotient = parts.f * inverse;
  const TwoDoubles back = exact_product(quotient, divisor.high);
  const TwoDoubles s = {quotient, ((parts.f - back.high) - back.low - quotient * divisor.low) * inverse};
  const TwoDoubles z = product_of(s, s);
  const double tail =
      z.high * double_polynomial(z.high, 0x1.5a600b2a51a27p-3, 0x1.59e097abaeee4p-3, 0x1.89fed1e6c14e5p-3,
                                 0x1.c68f2f0493075p-3, 0x1.0c9a84bf4d38ep-2, 0x1.484b13d79c3f2p-2,
                                 0x1.a61762a7adfa8p-2, 0x1.2776c50ef9bfep-1);
  TwoDoubles factor = sum_of_larger(0x1.ec709dc3a03fdp-1, tail);  // 2 / (3 ln 2)
  factor.low += 0x1.d27f05548af0cp-55;
  const TwoDoubles others = product_of(z, factor);
  TwoDoubles all = sum_of_larger(0x1.71547652b82fep+1, others.high);  // 2 / ln 2
  all.low += others.low + 0x1.777d0ffda0d24p-55;
  const TwoDoubles of_rest = product_of(s, all);
  TwoDoubles result = sum_of_larger(parts.n, of_rest.high);
  result.low += of_rest.low;
  return result;
}

/// a^b for positive finite a.
static TENON_INLINE double double_power_of_positive(double a, double b) {
  const double exponent =
      double_clamp(b, -0x1p80, 0x1p80);  // beyond it only 1 has another power than 0 or infinity
  const TwoDoubles logarithm = double_log2_of_positive(a);
  const TwoDoubles product = exact_product(logarithm.high, exponent);
  const double clamped = double_clamp(product.high, -1080, 1030), sum = clamped + double_magic;
  const double low = clamped == product.high ? product.low + logarithm.low * exponent : 0;
  const double r = ((clamped - (sum - double_magic)) + low) * 0x1.62e42fefa39efp-1;
  const double result = double_exp_of_parts(double_exp_parts_of(r, sum));
  return (clamped - 1024) + low >= 0 ? __builtin_inf() : result;
}

/// As C's pow.
static TENON_INLINE double double_pow(double a, double b) {
  const double base = __builtin_fabs(a), size = __builtin_fabs(b);
  const bool is_extreme = (base == 0) | (base == __builtin_inf());
  const double of_extreme = (base > 1) == (b > 0) ? __builtin_inf() : 0;
  double result = double_power_of_positive(is_extreme ? 1 : base, b);
  result = is_extreme ? of_extreme : result;
  const double half = 0.5 * b;
  const bool is_integer = __builtin_trunc(b) == b;
  const bool is_odd = is_integer & (__builtin_trunc(half) != half) & (size < __builtin_inf());
  const double signed_result = is_odd ? __builtin_copysign(result, a) : result;
  const bool is_not_real = (a < 0) & (base < __builtin_inf()) & !is_integer;
  result = is_not_real ? __builtin_nan("") : signed_result;
  result = (a != a) | (b != b) ? a + b : result;
  return (b == 0) | (a == 1) ? 1 : result;
}

}  // namespace tenon::cpu::TENON_ISA
