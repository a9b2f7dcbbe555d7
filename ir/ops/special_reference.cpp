// What the special functions are, in f64. Formulas: NIST Digital Library of Mathematical Functions (DLMF);
// values at poles and outside of the domain are torch.special's.
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "base/scalar.h"
#include "ir/ops/reference.h"
#include "ir/ops/special.h"

namespace tenon {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
using std::numbers::pi;

/// The asymptotic series of Hankel (DLMF 10.17, 10.40): sum over k of sign^k a_k(order) / x^k.
double hankel_series(int order, double x, double sign) {
  double term = 1, sum = 1;
  for (int k = 1; k < 30; ++k) {
    const double odd = 2 * k - 1;
    const double next = term * sign * (4.0 * order * order - odd * odd) / (8 * k * x);
    if (std::fabs(next) >= std::fabs(term)) break;
    term = next;
    sum += term;
  }
  return sum;
}

constexpr double large = 500;  // from here on exp(x) nears the end of f64 and the series is exact

/// exp(-|x|) I_order(x).
double scaled_i(int order, double x) {
  if (std::isnan(x)) return nan;
  const double a = std::fabs(x);
  if (std::isinf(a)) return 0;
  const double value = a < large ? std::exp(-a) * std::cyl_bessel_i(order, a)
                                 : hankel_series(order, a, -1) / std::sqrt(2 * pi * a);
  return order % 2 == 1 && x < 0 ? -value : value;
}
double bessel_i(int order, double x) {
  const double a = std::fabs(x);
  if (a < large) {
    const double value = std::cyl_bessel_i(order, a);
    return order % 2 == 1 && x < 0 ? -value : value;
  }
  return std::exp(a / 2) * scaled_i(order, x) * std::exp(a / 2);
}

/// exp(x) K_order(x).
double scaled_k(int order, double x) {
  if (x == 0) return inf;
  if (!(x > 0)) return nan;
  if (std::isinf(x)) return 0;
  return x < large ? std::exp(x) * std::cyl_bessel_k(order, x)
                   : hankel_series(order, x, 1) * std::sqrt(pi / (2 * x));
}
double bessel_k(int order, double x) {
  if (x == 0) return inf;
  if (!(x > 0)) return nan;
  return x < large ? std::cyl_bessel_k(order, x) : std::exp(-x) * scaled_k(order, x);
}

double bessel_y(double x, double (*positive)(double)) {
  if (x == 0) return -inf;
  return x > 0 ? positive(x) : nan;
}

/// DLMF 9.6.
double airy_ai(double x) {
  if (!std::isfinite(x)) return nan;
  if (x == 0) return 0.35502805388781723926;
  if (x > 103.892) return 0;
  const double a = std::fabs(x), zeta = 2.0 / 3 * a * std::sqrt(a);
  if (x > 0) return std::sqrt(a / 3) / pi * std::cyl_bessel_k(1.0 / 3, zeta);
  const double j = std::cyl_bessel_j(1.0 / 3, zeta), y = std::cyl_neumann(1.0 / 3, zeta);
  // J of order -1/3 is cos(pi/3) J - sin(pi/3) Y.
  return std::sqrt(a) / 3 * (1.5 * j - std::numbers::sqrt3 / 2 * y);
}

/// exp(x^2) erfc(x); the continued fraction is DLMF 7.9.2.
double erfcx(double x) {
  if (x < 10) return std::exp(x * x) * std::erfc(x);
  double fraction = x;
  for (int k = 60; k > 0; --k) fraction = x + k / 2.0 / fraction;
  return 1 / (fraction * std::sqrt(pi));
}

double log_ndtr(double x) {
  const double t = x / std::numbers::sqrt2;
  return x < -1 ? std::log(erfcx(-t) / 2) - t * t : std::log1p(-std::erfc(t) / 2);
}

/// The inverse of the normal distribution function, by Newton's method on its logarithm.
double ndtri(double p) {
  if (std::isnan(p) || p < 0 || p > 1) return nan;
  if (p == 0) return -inf;
  if (p == 1) return inf;
  if (p > 0.5) return -ndtri(1 - p);
  double x = p > 0.02 ? std::numbers::sqrt2 * apply<double>(Prim::erfinv, 2 * p - 1) : -std::sqrt(-2 * std::log(p));
  for (int i = 0; i < 20; ++i) {
    const double density_ratio = erfcx(-x / std::numbers::sqrt2) * std::sqrt(pi / 2);  // ndtr(x) / density(x)
    const double step = (log_ndtr(x) - std::log(p)) * density_ratio;
    x -= step;
    if (std::fabs(step) <= 1e-16 * std::fabs(x)) break;
  }
  return x;
}

/// sum over k >= 0 of (k + q)^-s, by the formula of Euler and Maclaurin (DLMF 25.11.5).
double zeta(double s, double q) {
  if (s == 1) return inf;
  if (!(s > 1)) return nan;
  if (q <= 0) {
    if (q == std::floor(q)) return inf;
    if (s != std::floor(s)) return nan;
  }
  double sum = 0;
  int k = 0;
  for (; k < 12 || q + k < 12; ++k) sum += std::pow(q + k, -s);
  const double a = q + k;
  sum += std::pow(a, 1 - s) / (s - 1) + std::pow(a, -s) / 2;
  constexpr double bernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                  5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
  double factor = s * std::pow(a, -s - 1) / 2;  // s (s+1) ... a^(-s-2j+1) / (2j)!
  for (int j = 1; j <= 8; ++j) {
    sum += bernoulli[j - 1] * factor;
    factor *= (s + 2 * j - 1) * (s + 2 * j) / ((2 * j + 1.0) * (2 * j + 2) * a * a);
  }
  return sum;
}

double trigamma(double x) {
  if (x == 0) return inf;
  if (x < 0.5 && x != std::floor(x)) {
    const double s = std::sin(pi * x);
    return pi * pi / (s * s) - trigamma(1 - x);
  }
  return zeta(2, x);
}

/// The same for large a, to about 1 / a (DLMF 8.12.3 and 8.12.4, the first term of the series).
double incomplete_gamma_large(double a, double x, bool upper) {
  const double mu = (x - a) / a;
  const bool near = std::fabs(mu) < 1e-3;
  const double half_square =
      near ? mu * mu * (0.5 - mu * (1.0 / 3 - mu * (0.25 - mu * (0.2 - mu / 6)))) : mu - std::log1p(mu);
  const double eta = std::copysign(std::sqrt(2 * half_square), mu);
  const double first = near ? eta / 12 - 1.0 / 3 : 1 / mu - 1 / eta;
  const double rest = std::exp(-a * half_square) / std::sqrt(2 * std::numbers::pi * a) * first;
  const double side = eta * std::sqrt(a / 2);
  return upper ? std::erfc(side) / 2 + rest : std::erfc(-side) / 2 - rest;
}

/// The regularised incomplete gamma functions (DLMF 8.7.1 and 8.9.2); `upper` gives 1 minus the lower one.
double incomplete_gamma(double a, double x, bool upper) {
  const double none = upper ? 1 : 0;
  if (a < 0 || x < 0) return nan;
  if (a == 0) return x > 0 ? 1 - none : nan;
  if (x == 0) return none;
  if (std::isinf(a)) return std::isinf(x) ? nan : none;
  if (std::isinf(x)) return 1 - none;
  if (std::isnan(a) || std::isnan(x)) return nan;
  if (a > 1e7) return incomplete_gamma_large(a, x, upper);
  int sign = 0;
  const double scale = std::exp(a * std::log(x) - x - ::lgamma_r(a, &sign));
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
    if (std::fabs(d * c - 1) < 1e-16) break;
  }
  return upper ? scale * fraction : 1 - scale * fraction;
}

/// p0 = 1, p1 given, p(k+1) = next(k, p(k), p(k-1)); 0 for a negative degree.
template <class Next>
double polynomial(double degree, double p1, Next next) {
  if (std::isnan(degree) || degree <= -1) return 0;
  const auto n = static_cast<std::int64_t>(degree);
  double before = 1, now = p1;
  if (n == 0) return before;
  for (std::int64_t k = 1; k < n && std::isfinite(now); ++k) {
    const double after = next(static_cast<double>(k), now, before);
    before = now;
    now = after;
  }
  return now;
}

/// The four kinds share a recurrence; p1 tells them apart.
double chebyshev(double x, double degree, double p1) {
  return polynomial(degree, p1, [x](double, double now, double before) { return 2 * x * now - before; });
}

double value(SpecialFunction f, double x, double y) {
  using enum SpecialFunction;
  switch (f) {
    case airy_ai: return tenon::airy_ai(x);
    case bessel_j0: return std::isinf(x) ? nan : ::j0(x);
    case bessel_j1: return std::isinf(x) ? nan : ::j1(x);
    case bessel_y0: return bessel_y(x, ::y0);
    case bessel_y1: return bessel_y(x, ::y1);
    case i0: return bessel_i(0, x);
    case i0e: return scaled_i(0, x);
    case i1: return bessel_i(1, x);
    case i1e: return scaled_i(1, x);
    case k0: return bessel_k(0, x);
    case k0e: return scaled_k(0, x);
    case k1: return bessel_k(1, x);
    case k1e: return scaled_k(1, x);
    case spherical_j0: return std::isinf(x) ? 0 : x == 0 ? 1 : std::sin(x) / x;
    case erfcx: return tenon::erfcx(x);
    case log_ndtr: return tenon::log_ndtr(x);
    case ndtri: return tenon::ndtri(x);
    case trigamma: return tenon::trigamma(x);
    case chebyshev_t: return chebyshev(x, y, x);
    case chebyshev_u: return chebyshev(x, y, 2 * x);
    case chebyshev_v: return chebyshev(x, y, 2 * x - 1);
    case chebyshev_w: return chebyshev(x, y, 2 * x + 1);
    case shifted_chebyshev_t: return value(chebyshev_t, 2 * x - 1, y);
    case shifted_chebyshev_u: return value(chebyshev_u, 2 * x - 1, y);
    case shifted_chebyshev_v: return value(chebyshev_v, 2 * x - 1, y);
    case shifted_chebyshev_w: return value(chebyshev_w, 2 * x - 1, y);
    case hermite_h:
      return polynomial(y, 2 * x,
                        [x](double k, double now, double before) { return 2 * x * now - 2 * k * before; });
    case hermite_he:
      return polynomial(y, x, [x](double k, double now, double before) { return x * now - k * before; });
    case laguerre_l:
      return polynomial(y, 1 - x, [x](double k, double now, double before) {
        return ((2 * k + 1 - x) * now - k * before) / (k + 1);
      });
    case legendre_p:
      return polynomial(y, x, [x](double k, double now, double before) {
        return ((2 * k + 1) * x * now - k * before) / (k + 1);
      });
    case zeta: return tenon::zeta(x, y);
    case gammainc: return incomplete_gamma(x, y, false);
    case gammaincc: return incomplete_gamma(x, y, true);
  }
  return nan;
}

// Of the smallest integer as PyTorch's: its absolute value is itself.
template <class T>
T common_divisor(T a, T b) {
  const auto positive = [](T x) {
    return x < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)) : x;
  };
  a = positive(a);
  b = positive(b);
  while (a != 0) {
    const T rest = std::is_signed_v<T> && a == static_cast<T>(-1) ? T(0) : static_cast<T>(b % a);
    b = std::exchange(a, rest);
  }
  return b;
}

}  // namespace

void Special::reference(InSpan in, OutSpan out) const {
  const Index& shape = out[0].shape();
  const Tensor x = widened(in[0].expand(shape)), y = widened(in.back().expand(shape));
  Tensor result = Tensor::empty(DType::f64, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i)
    result.mutable_data<double>()[i] = value(function, x.data<double>()[i], y.data<double>()[i]);
  out[0].copy_from(result);
}

void Gcd::reference(InSpan in, OutSpan out) const {
  const Index& shape = out[0].shape();
  const Tensor a = in[0].expand(shape).contiguous(), b = in[1].expand(shape).contiguous();
  Tensor result = Tensor::empty(out[0].dtype(), shape);
  dispatch_real(result.dtype(), [&]<class T>(dtype_tag<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      for (std::int64_t i = 0; i < result.numel(); ++i)
        result.mutable_data<T>()[i] = common_divisor(a.data<T>()[i], b.data<T>()[i]);
  });
  out[0].copy_from(result);
}

}  // namespace tenon
