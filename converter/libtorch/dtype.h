// LibTorch's scalar types under Tenon's names.
#pragma once
#include <c10/core/ScalarType.h>

#include <optional>
#include <string_view>

namespace tenon::libtorch {

/// "f32", "i64" …, or nullopt for a type Tenon has no form for.
inline std::optional<std::string_view> dtype_name(c10::ScalarType type) {
  switch (type) {
    case c10::kBool: return "bool";
    case c10::kByte: return "u8";
    case c10::kChar: return "i8";
    case c10::kUInt16: return "u16";
    case c10::kShort: return "i16";
    case c10::kUInt32: return "u32";
    case c10::kInt: return "i32";
    case c10::kUInt64: return "u64";
    case c10::kLong: return "i64";
    case c10::kHalf: return "f16";
    case c10::kBFloat16: return "bf16";
    case c10::kFloat8_e4m3fn: return "f8e4m3fn";
    case c10::kFloat8_e5m2: return "f8e5m2";
    case c10::kFloat8_e4m3fnuz: return "f8e4m3fnuz";
    case c10::kFloat8_e5m2fnuz: return "f8e5m2fnuz";
    case c10::kFloat: return "f32";
    case c10::kDouble: return "f64";
    case c10::kComplexFloat: return "c64";
    case c10::kComplexDouble: return "c128";
    default: return std::nullopt;
  }
}

inline std::optional<c10::ScalarType> scalar_type(std::string_view name) {
  for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<c10::ScalarType>(i);
    if (dtype_name(type) == name) return type;
  }
  return std::nullopt;
}

}  // namespace tenon::libtorch
