// Operators on floats as such: powers, logarithms, parts of numbers, infinities and NaN.
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "converter/aten/half_precision.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/working_dtype.h"

namespace tenon::converter {

namespace {

/// The exponents for which PyTorch itself does not call pow.
Results wide_pow(Call& call) {
  const std::array given = {call.value("self"), call.value("exponent")};
  const auto x = promoted(call.build, given);
  const auto exponent = known_real(given[1]);
  const bool real = is_float(x[0].dtype());
  if (exponent == 1) return x[0];
  if (exponent == 2) return x[0] * x[0];
  if (exponent == 3) return x[0] * x[0] * x[0];
  if (real && exponent == 0.5) return sqrt(x[0]);
  if (real && exponent == -0.5) return rsqrt(x[0]);
  if (real && exponent == -1) return reciprocal(x[0]);
  if (real && exponent == -2) return reciprocal(x[0] * x[0]);
  return tenon::apply(Pow{}, x);
}

/// In f16 PyTorch calls pow for roots, too: that of minus infinity is infinity, and that of -0 is 0.
Results pow(Call& call) {
  const std::array given = {call.value("self"), call.value("exponent")};
  const auto exponent = known_real(given[1]);
  const bool root = exponent == 0.5 || exponent == -0.5;
  const Ref base = promoted(call.build, given)[0];
  if (!root || base.dtype() != DType::f16) return run_in_f32(wide_pow, call);
  const Ref x = cast(DType::f32, base), zero = x.literal(0);
  const Ref y = where(equal(x, zero), zero, where(apply(IsInf{}, {x}), abs(x), x));
  return cast(DType::f16, exponent == 0.5 ? sqrt(y) : rsqrt(y));
}

Results float_power(Call& call) {
  std::array given = {call.value("self"), call.value("exponent")};
  return apply(Pow{}, {operand(call.build, given[0], DType::f64), operand(call.build, given[1], DType::f64)});
}
Results square(Call& call) {
  Ref x = call.tensor("self");
  if (is_bool(x.dtype())) x = cast(DType::i64, x);
  return x * x;
}

Results logit(Call& call) {
  Ref x = real_operand(call);
  if (call.has("eps")) x = apply(Clamp{.min = call.number("eps"), .max = 1 - call.number("eps")}, {x});
  return log(x / (1.0 - x));
}
Results logaddexp(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  const auto x = promoted(call.build, given);
  const Ref sum = maximum(x[0], x[1]) + log1p(exp(-abs(x[0] - x[1])));
  return where(equal(x[0], x[1]), x[0] + x[0].literal(0.6931471805599453), sum);
}
Results logaddexp2(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  const auto x = promoted(call.build, given);
  const Ref sum = maximum(x[0], x[1]) + log2(exp2(-abs(x[0] - x[1])) + 1.0);
  return where(equal(x[0], x[1]), x[0] + 1.0, sum);
}
Results xlogy(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  const auto x = promoted(call.build, given, true);
  const Ref zero = x[0].literal(0);
  return where(apply(IsNan{}, {x[1]}), x[1], where(equal(x[0], zero), zero, x[0] * log(x[1])));
}
Results deg2rad(Call& call) { return real_operand(call) * (std::numbers::pi / 180); }
Results rad2deg(Call& call) { return real_operand(call) * (180 / std::numbers::pi); }

/// x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1, from the bits of x.
Results frexp(Call& call) {
  const Ref x = call.tensor("self");
  if (!is_float(x.dtype())) throw error("frexp of {} numbers", name(x.dtype()));
  const bool wide = x.dtype() == DType::f64;
  const DType whole = wide ? DType::i64 : DType::i32;
  const double digits = wide ? 52 : 23, largest = wide ? 2047 : 255;
  const double of_half = (largest - 1) / 2 - 1, smallest = std::exp2(-of_half);
  const Ref number = cast(wide ? DType::f64 : DType::f32, x);
  const Ref plain = logical_and(apply(IsFinite{}, {number}), not_equal(number, number.literal(0)));
  const Ref is_subnormal = abs(number) < number.literal(smallest);
  const Ref bits = bitcast(whole, where(is_subnormal, number * std::exp2(digits), number));
  const Ref field =
      apply(BitAnd{}, {apply(ShiftRight{}, {bits, bits.literal(digits)}), bits.literal(largest)});
  const Ref exponent = field - of_half;
  const Ref mantissa = bitcast(number.dtype(), bits - exponent * std::exp2(digits));
  const Ref unscaled = where(is_subnormal, exponent - digits, exponent);
  return std::vector{cast(x.dtype(), where(plain, mantissa, number)),
                     cast(DType::i32, where(plain, unscaled, 0))};
}

/// Of a float type.
double largest_number(DType dtype) {
  switch (dtype) {
    case DType::f16: return 65504.0;
    case DType::bf16: return 0x1.fep127;
    case DType::f32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

/// The number of a 16-bit float type beside a, towards b: a step of 0.6 units in the last place, or 1.2 where
/// a is just below a power of two, is rounded to one.
Ref half_beside(const Ref& a, const Ref& b, DType dtype) {
  const bool f16 = dtype == DType::f16;
  const double unit = f16 ? 0x1p-10 : 0x1p-7, smallest = f16 ? 0x1p-24 : 0x1p-133;
  const Ref step = maximum(abs(a) * (0.6 * unit), a.literal(0.6 * smallest));
  const Ref largest = where(a > b, a.literal(largest_number(dtype)), a.literal(-largest_number(dtype)));
  const Ref beside = where(apply(IsInf{}, {a}), largest, where(a > b, a - step, a + step));
  const Ref number = where(equal(a, b), b, beside);
  return where(logical_or(apply(IsNan{}, {a}), apply(IsNan{}, {b})), a + b, number);
}

Results nextafter(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  const auto x = promoted(call.build, given, true);
  const DType dtype = x[0].dtype();
  if (working_dtype(dtype) == dtype) return tenon::apply(Nextafter{}, x);
  return cast(dtype, half_beside(working(x[0]), working(x[1]), dtype));
}

Results nan_to_num(Call& call) {
  const Ref x = call.tensor("self");
  if (!is_float(x.dtype())) return x;
  const double largest = largest_number(x.dtype());
  const double low = call.number("neginf", -largest), high = call.number("posinf", largest);
  const Ref infinity = x.literal(std::numeric_limits<double>::infinity());
  const bool are_bounds = low == -largest && high == largest;
  const Ref finite =
      are_bounds ? minimum(maximum(x, x.literal(low)), x.literal(high))
                 : where(equal(x, infinity), x.literal(high), where(equal(x, -infinity), x.literal(low), x));
  return where(apply(IsNan{}, {x}), x.literal(call.number("nan", 0)), finite);
}

template <int sign>
Results is_infinity(Call& call) {
  if (const Ref whole = call.tensor("self"); !is_float(whole.dtype()))
    return apply(IsInf{}, {whole});  // none is
  const Ref x = real_operand(call);
  return equal(x, x.literal(sign * std::numeric_limits<double>::infinity()));
}
Results isclose(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  const auto x = promoted(call.build, given, true);
  const Ref near = abs(x[0] - x[1]) <= abs(x[1]) * call.number("rtol", 1e-5) + call.number("atol", 1e-8);
  const Ref finite = apply(IsFinite{}, {x[0] - x[1]});
  Ref close = logical_or(equal(x[0], x[1]), logical_and(near, finite));
  if (call.flag("equal_nan", false)) {
    close = logical_or(close, logical_and(apply(IsNan{}, {x[0]}), apply(IsNan{}, {x[1]})));
  }
  return close;
}
/// pi for negative numbers, 0 for the others, NaN for NaN.
Results angle(Call& call) {
  const Ref x = real_operand(call);
  const Ref of_number = where(x < x.literal(0), x.literal(std::numbers::pi), x.literal(0));
  return where(apply(IsNan{}, {x}), x, of_number);
}
Results isreal(Call& call) {
  return full(call.tensor("self").shape(), 1, DType::boolean, call.build.insertion_point());
}

constexpr AtenEntry float_table[] = {
    {"angle", angle},
    {"isreal", isreal},
    {"frexp", frexp},
    {"pow", pow},
    {"nextafter", nextafter},
    {"float_power", float_power},
    {"square", square},
    {"logit", logit, HalfPrecision::in_f32},
    {"special_logit", logit, HalfPrecision::in_f32},
    {"logaddexp", logaddexp, HalfPrecision::in_f32},
    {"logaddexp2", logaddexp2, HalfPrecision::in_f32},
    {"isposinf", is_infinity<1>},
    {"isneginf", is_infinity<-1>},
    {"deg2rad", deg2rad, HalfPrecision::in_f32},
    {"rad2deg", rad2deg, HalfPrecision::in_f32},
    {"xlogy", xlogy, HalfPrecision::in_f32},
    {"special_xlogy", xlogy, HalfPrecision::in_f32},
    {"nan_to_num", nan_to_num},
    {"isclose", isclose},
};

}  // namespace

std::span<const AtenEntry> float_entries() { return float_table; }

}  // namespace tenon::converter
