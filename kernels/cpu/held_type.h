// The types that values are held in while a loop program works on a tile.
#pragma once
#include <type_traits>

#include "base/dtype.h"

namespace tenon::cpu {

/// The type in which a value of a real dtype is held: itself, but floats of 16 and 8 bits as f32, and the
/// unsigned integers of 16 bits and more as a wider signed one (u64: as the i64 of the same bits).
constexpr DType held_type(DType t) {
  if (is_small_float(t)) return DType::f32;
  switch (t) {
    case DType::u16: return DType::i32;
    case DType::u32:
    case DType::u64: return DType::i64;
    default: return t;
  }
}

namespace held_detail {
template <class T>
struct Held {
  using type = std::conditional_t<is_small_float_element<T>, float, T>;
};
template <>
struct Held<std::uint16_t> {
  using type = std::int32_t;
};
template <>
struct Held<std::uint32_t> {
  using type = std::int64_t;
};
template <>
struct Held<std::uint64_t> {
  using type = std::int64_t;
};
}  // namespace held_detail
/// The C++ type of held_type.
template <class T>
using HeldOf = typename held_detail::Held<T>::type;

/// How a held value lies in a register: bools are bytes of 0 or 1.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

/// Calls f(dtype_tag<T>{}) with the C++ type of a type that values are held in.
template <class F>
constexpr decltype(auto) dispatch_held(DType t, F&& f) {
  switch (t) {
    case DType::boolean: return f(dtype_tag<bool>{});
    case DType::u8: return f(dtype_tag<std::uint8_t>{});
    case DType::i8: return f(dtype_tag<std::int8_t>{});
    case DType::i16: return f(dtype_tag<std::int16_t>{});
    case DType::i32: return f(dtype_tag<std::int32_t>{});
    case DType::i64: return f(dtype_tag<std::int64_t>{});
    case DType::f64: return f(dtype_tag<double>{});
    default: return f(dtype_tag<float>{});
  }
}

}  // namespace tenon::cpu
