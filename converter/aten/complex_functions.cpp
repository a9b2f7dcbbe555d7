// Functions of one complex number, and powers. Roots and inverse functions have the branch cuts of C's; most
// are written as W. Kahan, Branch cuts for complex elementary functions (1987), does.
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "converter/aten/complex_arithmetic.h"
#include "converter/aten/promote.h"
#include "ir/ops/functions.h"
#include "ir/ops/math.h"

namespace tenon::converter {

namespace {

Parts one(const Parts& z) {
  return {full(z.real.shape(), 1, z.real.dtype(), z.real.insertion_point()), zeros_like(z.real)};
}
Parts of_angle(const Ref& size, const Ref& angle) { return {size * cos(angle), size * sin(angle)}; }
Ref angle_of(const Parts& z) { return atan2(z.imag, z.real); }
/// bounded * size: 0 stays 0 where the size is infinite.
Ref times(const Ref& bounded, const Ref& size) {
  return where(equal(bounded, bounded.literal(0.0)), bounded, bounded * size);
}
Parts times_i(const Parts& z) { return {-z.imag, z.real}; }
Parts over_i(const Parts& z) { return {z.imag, -z.real}; }
Parts negative(const Parts& z) { return {-z.real, -z.imag}; }

Parts square_of(const Parts& z) { return z * z; }
Parts sqrt_of(const Parts& z) { return of_angle(sqrt(modulus(z)), angle_of(z) * 0.5); }
Parts rsqrt_of(const Parts& z) { return one(z) / sqrt_of(z); }
Parts reciprocal_of(const Parts& z) { return one(z) / z; }
Parts exp_of(const Parts& z) {
  const Ref size = exp(z.real);
  return {size * cos(z.imag), times(sin(z.imag), size)};
}
Parts exp2_of(const Parts& z) { return exp_of({z.real * std::numbers::ln2, z.imag * std::numbers::ln2}); }
Parts expm1_of(const Parts& z) {
  const Ref half = sin(z.imag * 0.5);
  return {expm1(z.real) * cos(z.imag) - half * half * 2.0, exp(z.real) * sin(z.imag)};
}
Parts log_of(const Parts& z) { return {log(modulus(z)), angle_of(z)}; }
Parts log2_of(const Parts& z) { return {log2(modulus(z)), angle_of(z) * std::numbers::log2e}; }
Parts log10_of(const Parts& z) { return {log10(modulus(z)), angle_of(z) * std::numbers::log10e}; }
Parts log1p_of(const Parts& z) {
  return {log1p(z.real * (z.real + 2.0) + z.imag * z.imag) * 0.5, atan2(z.imag, z.real + 1.0)};
}

Parts sin_of(const Parts& z) { return {times(sin(z.real), cosh(z.imag)), cos(z.real) * sinh(z.imag)}; }
Parts cos_of(const Parts& z) { return {cos(z.real) * cosh(z.imag), -times(sin(z.real), sinh(z.imag))}; }
Parts sinh_of(const Parts& z) { return {sinh(z.real) * cos(z.imag), times(sin(z.imag), cosh(z.real))}; }
Parts cosh_of(const Parts& z) { return {cosh(z.real) * cos(z.imag), times(sin(z.imag), sinh(z.real))}; }
/// (T + i t) / (1 + i T t) with T = tanh(a) and t = tan(b), of a + i b.
Parts tanh_of(const Parts& z) {
  const Ref along = apply(Tanh{}, {z.real}), across = apply(Tan{}, {z.imag});
  const Ref beside = across * across, size = along * along * beside + 1.0;
  const Ref narrowing = reciprocal(cosh(z.real));
  return {along * (beside + 1.0) / size, across * narrowing * narrowing / size};
}
Parts tan_of(const Parts& z) { return over_i(tanh_of(times_i(z))); }

/// The square roots of 1 - z and 1 + z.
struct Roots {
  // The imaginary part keeps its sign where it is 0: it decides the side of a cut.
  explicit Roots(const Parts& z)
      : below(sqrt_of({-z.real + 1.0, -z.imag})), above(sqrt_of({z.real + 1.0, z.imag})) {}
  Parts below, above;
};
Ref asinh_real(const Ref& x) { return apply(Asinh{}, {x}); }
Parts asin_of(const Parts& z) {
  const Roots r(z);
  return {atan2(z.real, (r.below * r.above).real), asinh_real((conjugate(r.below) * r.above).imag)};
}
Parts acos_of(const Parts& z) {
  const Roots r(z);
  return {atan2(r.below.real, r.above.real) * 2.0, asinh_real((conjugate(r.above) * r.below).imag)};
}
Parts acosh_of(const Parts& z) {
  const Parts below = sqrt_of({z.real - 1.0, z.imag}), above = sqrt_of({z.real + 1.0, z.imag});
  return {asinh_real((conjugate(below) * above).real), atan2(below.imag, above.real) * 2.0};
}
Parts asinh_of(const Parts& z) { return over_i(asin_of(times_i(z))); }
Parts atanh_of(const Parts& z) {
  const Ref size = abs(z.real), beside = z.imag * z.imag, below = -size + 1.0;
  const Ref along = log1p(size * 4.0 / (below * below + beside)) * 0.25;
  return {where(z.real < z.real.literal(0.0), -along, along),
          atan2(z.imag * 2.0, below * (size + 1.0) - beside) * 0.5};
}
Parts atan_of(const Parts& z) { return over_i(atanh_of(times_i(z))); }

/// 1 / (1 + exp(-z)), or exp(z) / (1 + exp(z)) where z.real < 0: neither power overflows.
Parts sigmoid_of(const Parts& z) {
  const Parts unit = one(z);
  const Ref is_negative = z.real < z.real.literal(0.0), size = exp(-abs(z.real)), across = size * sin(z.imag);
  const Parts power{size * cos(z.imag), where(is_negative, across, -across)};
  const Parts above{where(is_negative, power.real, unit.real), where(is_negative, power.imag, unit.imag)};
  return above / (unit + power);
}
Parts silu_of(const Parts& z) { return z * sigmoid_of(z); }

/// f where z is not 0, else the number.
Parts but_at_zero(const Parts& z, const Parts& f, double number) {
  const Ref is_zero = logical_and(equal(z.real, z.real.literal(0.0)), equal(z.imag, z.imag.literal(0.0)));
  return {where(is_zero, f.real.literal(number), f.real), where(is_zero, f.imag.literal(0.0), f.imag)};
}
Parts sgn_of(const Parts& z) { return but_at_zero(z, z / modulus(z), 0); }
Parts sinc_of(const Parts& z) {
  const Parts angle{z.real * std::numbers::pi, z.imag * std::numbers::pi};
  return but_at_zero(z, sin_of(angle) / angle, 1);
}

template <Parts (*f)(const Parts&)>
Results of_self(Call& call) {
  return complex(f(self_of(call)));
}
Results angle(Call& call) { return angle_of(self_of(call)); }

/// base^exponent = exp(exponent log(base)); 0 to a power of a positive real part is 0.
Parts power(const Parts& base, const Parts& exponent) {
  const Parts result = exp_of(exponent * log_of(base));
  const Ref zero = base.real.literal(0.0);
  const auto is_zero = [&](const Parts& z) { return logical_and(equal(z.real, zero), equal(z.imag, zero)); };
  const Ref to_zero = is_zero(exponent), at_zero = logical_and(is_zero(base), exponent.real > zero);
  const Ref real = where(to_zero, zero.literal(1.0), where(at_zero, zero, result.real));
  return {real, where(logical_or(to_zero, at_zero), zero, result.imag)};
}
Results pow_op(Call& call) {
  const AbstractValue& given = call.value("exponent");
  if (given.is_tensor() || call.value("self").is_number()) {
    const Operands x(call, {"self", "exponent"});
    return complex(power(x.parts[0], x.parts[1]));
  }
  const double exponent = call.number("exponent");
  const Parts z = self_of(call);
  if (exponent == 2) return complex(square_of(z));
  if (exponent == 0.5) return complex(sqrt_of(z));
  return complex(of_angle(pow(modulus(z), z.real.literal(exponent)), angle_of(z) * exponent));
}

constexpr AtenEntry function_table[] = {
    {"square", of_self<square_of>},
    {"pow", pow_op},
    {"reciprocal", of_self<reciprocal_of>},
    {"sqrt", of_self<sqrt_of>},
    {"rsqrt", of_self<rsqrt_of>},
    {"exp", of_self<exp_of>},
    {"exp2", of_self<exp2_of>},
    {"special_exp2", of_self<exp2_of>},
    {"expm1", of_self<expm1_of>},
    {"special_expm1", of_self<expm1_of>},
    {"log", of_self<log_of>},
    {"log2", of_self<log2_of>},
    {"log10", of_self<log10_of>},
    {"log1p", of_self<log1p_of>},
    {"special_log1p", of_self<log1p_of>},
    {"sin", of_self<sin_of>},
    {"cos", of_self<cos_of>},
    {"tan", of_self<tan_of>},
    {"sinh", of_self<sinh_of>},
    {"cosh", of_self<cosh_of>},
    {"tanh", of_self<tanh_of>},
    {"asin", of_self<asin_of>},
    {"arcsin", of_self<asin_of>},
    {"acos", of_self<acos_of>},
    {"arccos", of_self<acos_of>},
    {"atan", of_self<atan_of>},
    {"arctan", of_self<atan_of>},
    {"asinh", of_self<asinh_of>},
    {"arcsinh", of_self<asinh_of>},
    {"acosh", of_self<acosh_of>},
    {"arccosh", of_self<acosh_of>},
    {"atanh", of_self<atanh_of>},
    {"arctanh", of_self<atanh_of>},
    {"sigmoid", of_self<sigmoid_of>},
    {"special_expit", of_self<sigmoid_of>},
    {"silu", of_self<silu_of>},
    {"sgn", of_self<sgn_of>},
    {"negative", of_self<negative>},
    {"neg", of_self<negative>},
    {"sinc", of_self<sinc_of>},
    {"special_sinc", of_self<sinc_of>},
    {"angle", angle},
};

}  // namespace

ComplexEntries complex_functions() { return function_table; }

}  // namespace tenon::converter
