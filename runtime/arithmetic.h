// Which arithmetic numbers of a dtype are multiplied in.
#pragma once
#include "base/dtype.h"
#include "kernels/peak.h"

namespace tenon {

/// Of anything but products.
constexpr ArithmeticKind arithmetic_of(DType dtype) {
  const bool is_double = dtype == DType::f64 || dtype == DType::c128;
  return is_double ? ArithmeticKind::f64 : ArithmeticKind::lanes;
}

/// Of products of numbers of one side by those of the other: where these are two kinds, but for bytes and for
/// float8, they are computed in float32.
constexpr ArithmeticKind arithmetic_of(DType left, DType right) {
  const auto is_byte = [](DType t) { return t == DType::i8 || t == DType::u8; };
  if (is_byte(left) && is_byte(right)) return ArithmeticKind::i8;
  if (is_float8(left) && is_float8(right)) return ArithmeticKind::f8;
  if (left == DType::f16 && right == DType::f16) return ArithmeticKind::f16;
  if (left == DType::bf16 && right == DType::bf16) return ArithmeticKind::bf16;
  if (arithmetic_of(left) == ArithmeticKind::f64) return ArithmeticKind::f64;
  return is_integral(left) ? ArithmeticKind::lanes : ArithmeticKind::f32;
}

}  // namespace tenon
