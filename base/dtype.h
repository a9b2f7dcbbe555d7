// Element types: their names, sizes, and the C++ type that holds one element.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/float8.h"
#include "base/half.h"

namespace tenon {

enum class DType : std::uint8_t {
  boolean,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f16,
  bf16,
  f32,
  f64,
  c64,
  c128,
  string,
  f8e4m3fn,
  f8e5m2,
  f8e4m3fnuz,
  f8e5m2fnuz,
};

/// The name used in the IR text: "f32", "i64", "bool".
std::string_view name(DType t);
/// The dtype with this IR name, or nullopt.
std::optional<DType> dtype_from_name(std::string_view name);
/// Bytes per element.
std::size_t size_of(DType t);

constexpr bool is_bool(DType t) { return t == DType::boolean; }
constexpr bool is_integral(DType t) { return t >= DType::u8 && t <= DType::i64; }
constexpr bool is_float8(DType t) { return t >= DType::f8e4m3fn && t <= DType::f8e5m2fnuz; }
constexpr bool is_float(DType t) { return (t >= DType::f16 && t <= DType::f64) || is_float8(t); }
/// Floats that are only stored: arithmetic on them happens in f32.
constexpr bool is_small_float(DType t) { return t == DType::f16 || t == DType::bf16 || is_float8(t); }
constexpr bool is_complex(DType t) { return t == DType::c64 || t == DType::c128; }
constexpr bool is_string(DType t) { return t == DType::string; }  // elements: base/text.h

/// is_small_float, of C++ types.
template <class T>
inline constexpr bool is_small_float_element = false;
template <>
inline constexpr bool is_small_float_element<Half> = true;
template <>
inline constexpr bool is_small_float_element<BFloat16> = true;
template <int Mantissa, int Bias, Float8Specials Specials>
inline constexpr bool is_small_float_element<Float8<Mantissa, Bias, Specials>> = true;

template <class T>
struct dtype_tag {
  using type = T;
};

[[noreturn]] void refuse_as_real(DType t);

/// Calls f(dtype_tag<T>{}) with the C++ element type of a real dtype (bool, integers, floats).
/// f must return the same type for all of them. Throws Error for complex numbers and strings.
template <class F>
decltype(auto) dispatch_real(DType t, F&& f) {
  switch (t) {
    case DType::boolean: return f(dtype_tag<bool>{});
    case DType::u8: return f(dtype_tag<std::uint8_t>{});
    case DType::i8: return f(dtype_tag<std::int8_t>{});
    case DType::u16: return f(dtype_tag<std::uint16_t>{});
    case DType::i16: return f(dtype_tag<std::int16_t>{});
    case DType::u32: return f(dtype_tag<std::uint32_t>{});
    case DType::i32: return f(dtype_tag<std::int32_t>{});
    case DType::u64: return f(dtype_tag<std::uint64_t>{});
    case DType::i64: return f(dtype_tag<std::int64_t>{});
    case DType::f16: return f(dtype_tag<Half>{});
    case DType::bf16: return f(dtype_tag<BFloat16>{});
    case DType::f8e4m3fn: return f(dtype_tag<Float8E4M3FN>{});
    case DType::f8e5m2: return f(dtype_tag<Float8E5M2>{});
    case DType::f8e4m3fnuz: return f(dtype_tag<Float8E4M3FNUZ>{});
    case DType::f8e5m2fnuz: return f(dtype_tag<Float8E5M2FNUZ>{});
    case DType::f64: return f(dtype_tag<double>{});
    case DType::f32: return f(dtype_tag<float>{});
    default: refuse_as_real(t);
  }
}

}  // namespace tenon
