// Python's math module on known numbers, as TorchScript has it.
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "converter/interpreter/functions.h"

namespace tenon::converter {

namespace {

constexpr double radians_per_degree = std::numbers::pi / 180;

template <double (*f)(double)>
std::optional<AbstractValue> unary(Arguments a) {
  const auto x = real(a[0]);
  return x ? std::optional(AbstractValue(f(*x))) : std::nullopt;
}
template <bool (*f)(double)>
std::optional<AbstractValue> test(Arguments a) {
  const auto x = real(a[0]);
  return x ? std::optional(AbstractValue(f(*x))) : std::nullopt;
}
template <double (*f)(double, double)>
std::optional<AbstractValue> binary(Arguments a) {
  const auto x = real(a[0]), y = real(a[1]);
  return x && y ? std::optional(AbstractValue(f(*x, *y))) : std::nullopt;
}

double degrees(double x) { return x / radians_per_degree; }
double radians(double x) { return x * radians_per_degree; }
double angle(double x) { return std::isnan(x) ? x : x < 0 ? std::numbers::pi : 0; }
double to_base(double x, double base) { return std::log(x) / std::log(base); }

std::optional<AbstractValue> logarithm(Arguments a) {
  return a.size() > 1 ? binary<to_base>(a) : unary<std::log>(a);
}

std::optional<AbstractValue> frexp(Arguments a) {
  const auto x = real(a[0]);
  if (!x) return std::nullopt;
  int exponent = 0;
  const double mantissa = std::frexp(*x, &exponent);
  return tuple_of({AbstractValue(mantissa), AbstractValue(exponent)});
}
std::optional<AbstractValue> modf(Arguments a) {
  const auto x = real(a[0]);
  if (!x) return std::nullopt;
  double whole = 0;
  const double fraction = std::modf(*x, &whole);
  return tuple_of({AbstractValue(fraction), AbstractValue(whole)});
}
std::optional<AbstractValue> ldexp(Arguments a) {
  const auto x = real(a[0]);
  if (!x || !a[1].is<Dim>()) return std::nullopt;
  return AbstractValue(
      std::ldexp(*x, static_cast<int>(std::clamp<std::int64_t>(known_integer(a[1]), -5000, 5000))));
}

std::optional<AbstractValue> gcd(Arguments a) {
  return AbstractValue(std::gcd(known_integer(a[0]), known_integer(a[1])));
}
std::optional<AbstractValue> factorial(Arguments a) {
  const std::int64_t n = known_integer(a[0]);
  if (n < 0) throw error("factorial() of {}, which is negative", n);
  std::int64_t product = 1;
  for (std::int64_t i = 2; i <= n; ++i)
    if (__builtin_mul_overflow(product, i, &product)) throw error("factorial({}) leaves 64 bits", n);
  return AbstractValue(product);
}

}  // namespace

const ScalarFunctions& math_functions() {
  static const ScalarFunctions all = {
      {"sqrt", unary<std::sqrt>},
      {"exp", unary<std::exp>},
      {"expm1", unary<std::expm1>},
      {"log", logarithm},
      {"log2", unary<std::log2>},
      {"log10", unary<std::log10>},
      {"log1p", unary<std::log1p>},
      {"sin", unary<std::sin>},
      {"cos", unary<std::cos>},
      {"tan", unary<std::tan>},
      {"asin", unary<std::asin>},
      {"acos", unary<std::acos>},
      {"atan", unary<std::atan>},
      {"atan2", binary<std::atan2>},
      {"sinh", unary<std::sinh>},
      {"cosh", unary<std::cosh>},
      {"tanh", unary<std::tanh>},
      {"asinh", unary<std::asinh>},
      {"acosh", unary<std::acosh>},
      {"atanh", unary<std::atanh>},
      {"erf", unary<std::erf>},
      {"erfc", unary<std::erfc>},
      {"gamma", unary<std::tgamma>},
      {"lgamma", unary<std::lgamma>},
      {"fabs", unary<std::fabs>},
      {"degrees", unary<degrees>},
      {"radians", unary<radians>},
      {"angle", unary<angle>},
      {"copysign", binary<std::copysign>},
      {"fmod", binary<std::fmod>},
      {"mathremainder", binary<std::remainder>},
      {"ldexp", ldexp},
      {"frexp", frexp},
      {"modf", modf},
      {"gcd", gcd},
      {"factorial", factorial},
      {"isnan", test<std::isnan>},
      {"isinf", test<std::isinf>},
      {"isfinite", test<std::isfinite>},
  };
  return all;
}

}  // namespace tenon::converter
