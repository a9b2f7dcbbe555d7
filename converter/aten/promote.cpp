#include "converter/aten/promote.h"

#include <array>

#include "base/error.h"
#include "converter/aten/complex.h"

namespace tenon::converter {

namespace {

using MaybeType = std::optional<DType>;

bool is_signed(DType t) { return t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64; }

DType promote_integers(DType a, DType b) {
  if (is_signed(a) == is_signed(b)) return size_of(a) >= size_of(b) ? a : b;
  const DType s = is_signed(a) ? a : b;
  const DType u = is_signed(a) ? b : a;
  if (u == DType::u64 || u == DType::u32 || u == DType::u16) {
    throw unsupported("promotion of {} with {}", name(a), name(b)).hint("cast one of them");
  }
  return size_of(s) > size_of(u) ? s : DType::i16;
}

MaybeType promote(MaybeType a, MaybeType b) {
  if (!a) return b;
  if (!b) return a;
  return promote_types(*a, *b);
}

MaybeType combine(MaybeType higher, MaybeType lower) {
  if (higher && is_complex(*higher)) return higher;
  if (higher == DType::f16 && lower && is_complex(*lower)) throw unsupported("complex numbers of 16 bits");
  if (higher && is_float(*higher)) return lower && is_complex(*lower) ? promote(higher, DType::c64) : higher;
  if (higher == DType::boolean || (lower && (is_float(*lower) || is_complex(*lower))))
    return promote(higher, lower);
  return higher ? higher : lower;
}

}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (is_float8(a) || is_float8(b))
    throw error("{} and {} have no common dtype in PyTorch", name(a), name(b))
        .hint("call .to(torch.float32) or .to(torch.bfloat16) first");
  if (is_complex(a) || is_complex(b)) {
    const bool wide = a == DType::c128 || b == DType::c128 || a == DType::f64 || b == DType::f64;
    return wide ? DType::c128 : DType::c64;
  }
  if (is_float(a) && is_float(b)) {
    if (size_of(a) == size_of(b)) return DType::f32;
    return size_of(a) > size_of(b) ? a : b;
  }
  if (is_float(a)) return a;
  if (is_float(b)) return b;
  if (is_bool(a)) return b;
  if (is_bool(b)) return a;
  return promote_integers(a, b);
}

Ref real_operand(Call& call, std::string_view argument) {
  const std::array given = {call.value(argument)};
  return promoted(call.build, given, true)[0];
}

Ref in_floats(const Ref& x) { return is_float(x.dtype()) ? x : cast(DType::f32, x); }

std::optional<double> known_real(const AbstractValue& d) {
  if (const auto* real = d.get<double>()) return *real;
  if (const auto* dim = d.get<Dim>(); dim && dim->is_known()) return static_cast<double>(dim->value());
  return std::nullopt;
}

bool is_python_number(const AbstractValue& d) {
  if (d.is_number()) return true;
  const auto* t = d.get<TensorPtr>();
  return t && (*t)->is_scalar;
}

DType result_type(std::span<const AbstractValue> operands) {
  MaybeType with_dims, rank_0, numbers;
  for (const AbstractValue& d : operands) {
    if (d.is<bool>())
      numbers = promote(numbers, DType::boolean);
    else if (d.is<Dim>())
      numbers = promote(numbers, DType::i64);
    else if (d.is<double>() || (is_python_number(d) && is_float((*d.get<TensorPtr>())->dtype())))
      numbers = promote(numbers, DType::f32);
    else if (is_python_number(d) && is_complex((*d.get<TensorPtr>())->dtype()))
      numbers = promote(numbers, DType::c64);
    else if (is_python_number(d))
      numbers = promote(numbers, (*d.get<TensorPtr>())->dtype());
    else if (const auto* t = d.get<TensorPtr>()) {
      MaybeType& category = (*t)->rank() > 0 ? with_dims : rank_0;
      category = promote(category, (*t)->dtype());
    } else {
      throw unsupported("{} as an operand", kind_name(d));
    }
  }
  return *combine(with_dims, combine(rank_0, numbers));
}

Ref operand(Builder& build, const AbstractValue& d, DType dtype) {
  if (const auto* t = d.get<TensorPtr>()) return in_dtype(dtype, build.read(*t));
  return is_complex(dtype) ? in_dtype(dtype, build.literal(d, real_dtype(dtype))) : build.literal(d, dtype);
}

std::vector<Ref> promoted(Builder& build, std::span<const AbstractValue> operands, bool real) {
  DType dtype = result_type(operands);
  if (is_complex(dtype)) throw unsupported("complex numbers");
  if (real && !is_float(dtype)) dtype = DType::f32;
  std::vector<Ref> out;
  for (const AbstractValue& d : operands) out.push_back(operand(build, d, dtype));
  return out;
}

}  // namespace tenon::converter
