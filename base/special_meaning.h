// What the special functions are, in double: a text of built-in types and C's functions of numbers, which a
// run-time compiler for GPUs takes as it stands (see base/prim_meaning.h). Formulas: NIST Digital Library of
// Mathematical Functions (DLMF); values at poles and outside of the domain are torch.special's.
#pragma once
#include "base/prim_meaning.h"

namespace tenon {

/// The special functions, of one operand or of two.
enum class SpecialFunction : unsigned char {
#define SPECIAL(name, ...) name,
#include "base/specials.def"
};

namespace scalar_detail {

/// The asymptotic series of Hankel (DLMF 10.17, 10.40): sum over k of sign^k a_k(order) / x^k.
TENON_SCALAR double hankel_series(int order, double x, double sign) {
  double term = 1, sum = 1;
  for (int k = 1; k < 40; ++k) {
    const double odd = 2 * k - 1;
    const double next = term * sign * (4.0 * order * order - odd * odd) / (8 * k * x);
    if (fabs(next) >= fabs(term)) break;
    term = next;
    sum += term;
  }
  return sum;
}

constexpr double bessel_far = 30;  // from here on that series is exact

/// I_order(x) of 0 or 1 by its power series (DLMF 10.25.2): 0 <= x < bessel_far.
TENON_SCALAR double series_i(int order, double x) {
  double term = order == 1 ? x / 2 : 1, sum = term;
  for (int k = 1; k < 120 && term > 1e-17 * sum; ++k) sum += term *= x * x / (4.0 * k * (k + order));
  return sum;
}
/// exp(-|x|) I_order(x).
TENON_SCALAR double scaled_i(int order, double x) {
  if (isnan(x)) return TENON_NAN;
  const double a = fabs(x);
  if (isinf(a)) return 0;
  const double value =
      a < bessel_far ? exp(-a) * series_i(order, a) : hankel_series(order, a, -1) / sqrt(a) / sqrt(2 * pi);
  return order == 1 && x < 0 ? -value : value;
}
TENON_SCALAR double bessel_i(int order, double x) {
  const double a = fabs(x);
  if (!(a < bessel_far)) return exp(a / 2) * scaled_i(order, x) * exp(a / 2);
  const double value = series_i(order, a);
  return order == 1 && x < 0 ? -value : value;
}

/// K_order(x) of 0 < x <= 1: DLMF 10.31.2, and the Wronskian 10.28.2 for the order 1.
TENON_SCALAR double series_k(int order, double x) {
  constexpr double euler = 0.57721566490153286061;
  const double i0 = series_i(0, x);
  double term = 1, harmonic = 0, sum = 0;
  for (int k = 1; k < 20; ++k) {
    term *= x * x / (4.0 * k * k);
    harmonic += 1.0 / k;
    sum += term * harmonic;
  }
  const double k0 = sum - (log(x / 2) + euler) * i0;
  return order == 0 ? k0 : (1 / x - series_i(1, x) * k0) / i0;
}
/// exp(x) K_order(x) of 1 <= x < bessel_far: the integral of exp(-x (cosh t - 1)) cosh(order t)
/// (DLMF 10.32.9). The trapezoidal rule has full precision at this step.
TENON_SCALAR double integral_k(int order, double x) {
  constexpr double step = 0.1;
  double sum = 0.5;
  for (int k = 1; k < 50; ++k) {
    const double s = sinh(k * step / 2), more = 2 * s * s;  // cosh t - 1
    sum += exp(-x * more) * (order == 1 ? 1 + more : 1.0);
  }
  return sum * step;
}
/// exp(x) K_order(x).
TENON_SCALAR double scaled_k(int order, double x) {
  if (x == 0) return TENON_INFINITY;
  if (!(x > 0)) return TENON_NAN;
  if (isinf(x)) return 0;
  if (x < 1) return exp(x) * series_k(order, x);
  return x < bessel_far ? integral_k(order, x) : hankel_series(order, x, 1) * sqrt(pi / 2 / x);
}
TENON_SCALAR double bessel_k(int order, double x) {
  return x > 0 && x < 1 ? series_k(order, x) : exp(-x) * scaled_k(order, x);
}

/// Its Taylor series (DLMF 9.4.1), for |x| <= 1.
TENON_SCALAR double series_airy_ai(double x) {
  double even = 0.35502805388781723926, odd = -0.25881940379280679841 * x, sum = even + odd;
  for (int k = 3; k < 36; k += 3) {
    even *= x * x * x / (k * (k - 1.0));
    odd *= x * x * x / (k * (k + 1.0));
    sum += even + odd;
  }
  return sum;
}
/// The integral of exp(-c t^2) cos(t^3 / 3) for c = sqrt(z) (DLMF 9.5.6): of z = x where x > 0, else of
/// z = |x| exp(pi i / 3), from which DLMF 9.2.14 has the value of x. The trapezoidal rule has full precision.
TENON_SCALAR double integral_airy_ai(double x) {
  constexpr int steps = 56;
  const double a = fabs(x), root = sqrt(a), zeta = 2.0 / 3 * a * root;
  const double decay = x > 0 ? root : root * sqrt(0.75), turn = x > 0 ? 0.0 : root / 2;
  const double step = sqrt(42 / decay) / steps;
  double real = 0.5, imaginary = 0;
  for (int k = 1; k < steps; ++k) {
    const double t = k * step, size = exp(-decay * t * t) * cos(t * t * t / 3);
    real += size * cos(turn * t * t);
    imaginary -= size * sin(turn * t * t);
  }
  if (x > 0) return exp(-zeta) / pi * step * real;
  const double angle = pi / 3 - zeta;
  return 2 / pi * step * (cos(angle) * real - sin(angle) * imaginary);
}
TENON_SCALAR double airy_ai(double x) {
  if (!isfinite(x)) return TENON_NAN;
  if (x > 103.892) return 0;
  return fabs(x) < 1 ? series_airy_ai(x) : integral_airy_ai(x);
}

/// exp(x^2) erfc(x); the continued fraction is DLMF 7.9.2.
TENON_SCALAR double erfcx(double x) {
  if (x < 10) return exp(x * x) * erfc(x);
  double fraction = x;
  for (int k = 60; k > 0; --k) fraction = x + k / 2.0 / fraction;
  return 1 / (fraction * sqrt(pi));
}

TENON_SCALAR double log_ndtr(double x) {
  const double t = x / sqrt(2.0);
  return x < -1 ? log(erfcx(-t) / 2) - t * t : log1p(-erfc(t) / 2);
}

/// The inverse of the normal distribution function, by Newton's method on its logarithm.
TENON_SCALAR double ndtri(double probability) {
  if (isnan(probability) || probability < 0 || probability > 1) return TENON_NAN;
  const bool upper = probability > 0.5;
  const double p = upper ? 1 - probability : probability, sign = upper ? -1 : 1;
  if (p == 0) return -sign * TENON_INFINITY;
  double x = p > 0.02 ? sqrt(2.0) * erfinv(2 * p - 1) : -sqrt(-2 * log(p));
  for (int i = 0; i < 20; ++i) {
    const double density_ratio = erfcx(-x / sqrt(2.0)) * sqrt(pi / 2);  // ndtr(x) / density(x)
    const double step = (log_ndtr(x) - log(p)) * density_ratio;
    x -= step;
    if (fabs(step) <= 1e-16 * fabs(x)) break;
  }
  return sign * x;
}

/// sum over k >= 0 of (k + q)^-s, by the formula of Euler and Maclaurin (DLMF 25.11.5).
TENON_SCALAR double zeta(double s, double q) {
  if (s == 1) return TENON_INFINITY;
  if (!(s > 1)) return TENON_NAN;
  if (q <= 0) {
    if (q == floor(q)) return TENON_INFINITY;
    if (s != floor(s)) return TENON_NAN;
  }
  double sum = 0;
  int k = 0;
  for (; k < 12 || q + k < 12; ++k) sum += pow(q + k, -s);
  const double a = q + k;
  sum += pow(a, 1 - s) / (s - 1) + pow(a, -s) / 2;
  constexpr double bernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                  5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
  double factor = s * pow(a, -s - 1) / 2;  // s (s+1) ... a^(-s-2j+1) / (2j)!
  for (int j = 1; j <= 8; ++j) {
    sum += bernoulli[j - 1] * factor;
    factor *= (s + 2 * j - 1) * (s + 2 * j) / ((2 * j + 1.0) * (2 * j + 2) * a * a);
  }
  return sum;
}

TENON_SCALAR double trigamma(double x) {
  if (x == 0) return TENON_INFINITY;
  if (!(x < 0.5) || x == floor(x)) return zeta(2, x);
  const double s = sin(pi * x);
  return pi * pi / (s * s) - zeta(2, 1 - x);
}

/// incomplete_gamma of large a, to about 1 / a (DLMF 8.12.3 and 8.12.4, the first term of the series).
TENON_SCALAR double incomplete_gamma_large(double a, double x, bool upper) {
  const double mu = (x - a) / a;
  const bool near = fabs(mu) < 1e-3;
  const double half_square =
      near ? mu * mu * (0.5 - mu * (1.0 / 3 - mu * (0.25 - mu * (0.2 - mu / 6)))) : mu - log1p(mu);
  const double eta = copysign(sqrt(2 * half_square), mu);
  const double first = near ? eta / 12 - 1.0 / 3 : 1 / mu - 1 / eta;
  const double rest = exp(-a * half_square) / sqrt(2 * pi * a) * first;
  const double side = eta * sqrt(a / 2);
  return upper ? erfc(side) / 2 + rest : erfc(-side) / 2 - rest;
}

/// The regularised incomplete gamma functions (DLMF 8.7.1 and 8.9.2); `upper` gives 1 minus the lower one.
TENON_SCALAR double incomplete_gamma(double a, double x, bool upper) {
  const double none = upper ? 1 : 0;
  if (a < 0 || x < 0) return TENON_NAN;
  if (a == 0) return x > 0 ? 1 - none : TENON_NAN;
  if (x == 0) return none;
  if (isinf(a)) return isinf(x) ? TENON_NAN : none;
  if (isinf(x)) return 1 - none;
  if (isnan(a) || isnan(x)) return TENON_NAN;
  if (a > 1e7) return incomplete_gamma_large(a, x, upper);
  const double scale = exp(a * log(x) - x - lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int k = 1; k < 100000 && term > 1e-17 * sum; ++k) sum += term *= x / (a + k);
    return upper ? 1 - scale * sum : scale * sum;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
  for (int k = 1; k < 100000; ++k) {  // Lentz's method
    const double numerator = -k * (k - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    fraction *= d * c;
    if (fabs(d * c - 1) < 1e-16) break;
  }
  return upper ? scale * fraction : 1 - scale * fraction;
}

/// p0 = 1, p1 given, p(k+1) = next(k, p(k), p(k-1)); 0 for a degree that is negative or no integer of 64
/// bits.
template <class Next>
TENON_SCALAR double polynomial(double degree, double p1, Next next) {
  if (!(degree > -1 && degree < 9e18)) return 0;
  const Int n = static_cast<Int>(degree);
  double before = 1, now = p1;
  if (n == 0) return before;
  for (Int k = 1; k < n && isfinite(now); ++k) {
    const double after = next(static_cast<double>(k), now, before);
    before = now;
    now = after;
  }
  return now;
}

/// The four kinds share a recurrence; p1 tells them apart.
TENON_SCALAR double chebyshev(double x, double degree, double p1) {
  return polynomial(degree, p1, [x](double, double now, double before) { return 2 * x * now - before; });
}
TENON_SCALAR double hermite_h(double x, double degree) {
  return polynomial(degree, 2 * x,
                    [x](double k, double now, double before) { return 2 * x * now - 2 * k * before; });
}
TENON_SCALAR double hermite_he(double x, double degree) {
  return polynomial(degree, x, [x](double k, double now, double before) { return x * now - k * before; });
}
TENON_SCALAR double laguerre_l(double x, double degree) {
  return polynomial(degree, 1 - x, [x](double k, double now, double before) {
    return ((2 * k + 1 - x) * now - k * before) / (k + 1);
  });
}
TENON_SCALAR double legendre_p(double x, double degree) {
  return polynomial(degree, x, [x](double k, double now, double before) {
    return ((2 * k + 1) * x * now - k * before) / (k + 1);
  });
}

/// The meaning of a special function; one of a single operand does not look at b.
TENON_SCALAR double meaning(SpecialFunction f, double a, double b) {
  switch (f) {
// clang-format off
#define SPECIAL(name, arity, value) case SpecialFunction::name: return value;
// clang-format on
#include "base/specials.def"
  }
  return TENON_NAN;
}

/// The absolute value; that of the smallest integer is itself.
template <class T>
TENON_SCALAR T wrapped_abs(T x) {
  return x < 0 ? static_cast<T>(0 - raw(static_cast<Int>(x))) : x;
}
/// The greatest common divisor, not negative but of the smallest integer, as PyTorch's.
template <class T>
TENON_SCALAR T common_divisor(T a, T b) {
  a = wrapped_abs(a);
  b = wrapped_abs(b);
  while (a != 0) {
    const T rest = a == static_cast<T>(-1) && static_cast<T>(-1) < 0 ? T(0) : static_cast<T>(b % a);
    b = a;
    a = rest;
  }
  return b;
}

}  // namespace scalar_detail
}  // namespace tenon
