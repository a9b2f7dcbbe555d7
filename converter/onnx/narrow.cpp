#include "converter/onnx/narrow.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "converter/onnx/element_type.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"

namespace tenon::converter::onnx {

namespace {

/// Rounded to the even neighbour on the type's own grid.
Ref rounded(const Ref& x, const NarrowFormat& t) {
  const Ref size = abs(x);
  const Ref exponent = maximum(floor(log2(size)), x.literal(t.least_exponent()));
  const Ref step = apply(Ldexp{}, {x.literal(1), exponent - static_cast<double>(t.mantissa)});
  return round(x / step) * step;
}

Ref to_float(const Ref& x, const NarrowFormat& t, bool saturate) {
  const Ref wide = cast(DType::f32, x);
  const Ref finite = where(apply(IsFinite{}, {wide}), wide, 0);
  const Ref near = rounded(finite, t);
  const Ref largest = apply(Copysign{}, {wide.literal(t.largest()), wide});
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Ref beyond = largest;
  if (!saturate && t.specials == NarrowFormat::ieee)
    beyond = apply(Copysign{}, {wide.literal(infinity), wide});
  const bool has_only_nan =
      t.specials == NarrowFormat::nan_at_end || t.specials == NarrowFormat::nan_at_minus_zero;
  if (!saturate && has_only_nan) beyond = wide.literal(nan);
  const Ref is_beyond = logical_or(abs(near) > near.literal(t.largest()), apply(IsInf{}, {wide}));
  Ref y = where(is_beyond, beyond, near);
  y = where(apply(IsNan{}, {wide}), t.specials == NarrowFormat::none ? wide.literal(0) : wide, y);
  return cast(DType::f16, t.specials != NarrowFormat::nan_at_minus_zero
                              ? y
                              : where(equal(y, y.literal(0)), y.literal(0), y));
}

/// The power of two beside the magnitude, as the attribute round_mode says. What is none is NaN.
Ref to_power(const Call& call, const Ref& x, bool saturate) {
  constexpr double mantissa = 23, fraction = 0x7fffff, half = 0x400000, most = 254, none = 255;
  const Ref magnitude = apply(BitAnd{}, {bitcast(DType::i32, cast(DType::f32, x)),
                                         call.build.literal(std::int64_t{0x7fffffff}, DType::i32)});
  const auto number = [&](double v) { return magnitude.literal(v); };
  const Ref exponent = apply(ShiftRight{}, {magnitude, number(mantissa)});
  const Ref rest = apply(BitAnd{}, {magnitude, number(fraction)});
  const std::string mode = call.text("round_mode", "up");
  Ref is_up;
  if (mode == "up")
    is_up = rest > number(0);
  else if (mode == "nearest")  // halves go up, but not below the normal numbers
    is_up = logical_or(rest > number(half), logical_and(equal(rest, number(half)), exponent > number(0)));
  else if (mode != "down")
    throw error("its round_mode is '{}', not up, down or nearest", mode);
  Ref power = is_up ? exponent + cast(DType::i32, is_up) : exponent;
  if (saturate) power = minimum(power, number(most));
  power = where(exponent < number(none), power, number(none));
  const Ref lowest = call.build.literal(std::ldexp(1.0, -127), DType::f32);
  const Ref value = bitcast(DType::f32, apply(ShiftLeft{}, {power, number(mantissa)}));
  const Ref finite = where(equal(power, number(0)), lowest, value);
  return where(power < number(none), finite, finite.literal(std::numeric_limits<double>::quiet_NaN()));
}

/// The low bits of the whole part.
Ref to_integer(const Ref& x, const NarrowFormat& t) {
  const Ref whole = cast(DType::i32, x);
  const Ref wrapped = apply(Remainder{}, {whole - t.least(), whole.literal(1 << t.bits)}) + t.least();
  return cast(t.is_signed ? DType::i8 : DType::u8, wrapped);
}

}  // namespace

Operand narrowed(const Call& call, const Ref& x, std::int64_t type) {
  const NarrowFormat* format = narrow_format(type);
  if (!format) throw unsupported("a cast to {}", onnx_type_name(type));
  const bool saturate = call.integer("saturate", 1) != 0;
  Operand out(format->is_power()   ? to_power(call, x, saturate)
              : format->is_float() ? to_float(x, *format, saturate)
                                   : to_integer(x, *format));
  out.narrow = type;
  return out;
}

}  // namespace tenon::converter::onnx
