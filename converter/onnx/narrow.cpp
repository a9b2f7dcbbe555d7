#include "converter/onnx/narrow.h"

#include <limits>

#include "base/error.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"

namespace tenon::converter::onnx {

namespace {

struct Float {
  int mantissa, least_exponent;  // of normal numbers
  double largest;
  enum Specials : std::uint8_t { none, only_nan, nan_and_infinity } specials;
  bool has_minus_zero;
};

/// With the numbers of TensorProto.DataType.
std::optional<Float> float_type(std::int64_t type) {
  switch (type) {
    case 17: return Float{3, -6, 448, Float::only_nan, true};
    case 18: return Float{3, -7, 240, Float::only_nan, false};
    case 19: return Float{2, -14, 57344, Float::nan_and_infinity, true};
    case 20: return Float{2, -15, 57344, Float::only_nan, false};
    case 23: return Float{1, 0, 6, Float::none, true};
    default: return std::nullopt;
  }
}

/// Rounded to the even neighbour on the type's own grid.
Ref rounded(const Ref& x, const Float& t) {
  const Ref size = abs(x);
  const Ref exponent = maximum(floor(log2(size)), x.literal(t.least_exponent));
  const Ref step = apply(Ldexp{}, {x.literal(1), exponent - static_cast<double>(t.mantissa)});
  return round(x / step) * step;
}

Ref to_float(const Ref& x, const Float& t, bool saturate) {
  const Ref wide = cast(DType::f32, x);
  const Ref finite = where(apply(IsFinite{}, {wide}), wide, 0);
  const Ref near = rounded(finite, t);
  const Ref largest = apply(Copysign{}, {wide.literal(t.largest), wide});
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Ref beyond = largest;
  if (!saturate && t.specials == Float::nan_and_infinity)
    beyond = apply(Copysign{}, {wide.literal(infinity), wide});
  if (!saturate && t.specials == Float::only_nan) beyond = wide.literal(nan);
  const Ref is_beyond = logical_or(abs(near) > near.literal(t.largest), apply(IsInf{}, {wide}));
  Ref y = where(is_beyond, beyond, near);
  y = where(apply(IsNan{}, {wide}), t.specials == Float::none ? wide.literal(0) : wide, y);
  return cast(DType::f16, t.has_minus_zero ? y : where(equal(y, y.literal(0)), y.literal(0), y));
}

/// The low bits of the whole part.
Ref to_integer(const Ref& x, int bits, bool is_signed) {
  const Ref whole = cast(DType::i32, x);
  const double count = 1 << bits, half = is_signed ? count / 2 : 0;
  const Ref wrapped = apply(Remainder{}, {whole + half, whole.literal(count)}) - half;
  return cast(is_signed ? DType::i8 : DType::u8, wrapped);
}

}  // namespace

Operand narrowed(const Call& call, const Ref& x, std::int64_t type) {
  Operand out;
  if (const auto t = float_type(type))
    out = to_float(x, *t, call.integer("saturate", 1) != 0);
  else if (type == 21 || type == 22)
    out = to_integer(x, 4, type == 22);
  else if (type == 25 || type == 26)
    out = to_integer(x, 2, type == 26);
  else
    throw unsupported("a cast to {}", onnx_type_name(type));
  out.narrow = type;
  return out;
}

}  // namespace tenon::converter::onnx
