#include "converter/onnx/narrow.h"

#include <limits>

#include "base/error.h"
#include "ir/narrow.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
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
  Operand out(format->is_float() ? to_float(x, *format, call.integer("saturate", 1) != 0)
                                 : to_integer(x, *format));
  out.narrow = type;
  return out;
}

}  // namespace tenon::converter::onnx
