// Which joins there are kernels for, and rows that are joined. Internal to the kernels that write by index.
#pragma once
#include <cstdint>
#include <type_traits>

#include "base/dtype.h"
#include "base/prim_meaning.h"
#include "base/reduce.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Joins `count` elements in place: to[i] = to[i] joined with from[i].
using RowJoin = void (*)(void* to, const void* from, long count);
using RowJoinOf = RowJoin(DType dtype, Reduce join);
TENON_PER_ISA(RowJoinOf, row_join, row_join)

/// Two elements: their sum or product, in which integers wrap around, or their extreme, where NaN wins.
template <Reduce R, class T>
TENON_SCALAR_INLINE T joined(T a, T b) {
  if constexpr (R == Reduce::max) {
    return int(a > b) | int(a != a) ? a : b;
  } else if constexpr (R == Reduce::min) {
    return int(a < b) | int(a != a) ? a : b;
  } else if constexpr (std::is_floating_point_v<T>) {
    return R == Reduce::sum ? a + b : a * b;
  } else {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    const auto x = static_cast<Bits>(a), y = static_cast<Bits>(b);
    return static_cast<T>(R == Reduce::sum ? x + y : x * y);
  }
}

/// f.operator()<T, R>() for the elements and the join that do what `join` (sum, prod, min or max) does on
/// integers, bools, f32 or f64. Bools are bytes, whose sums are maxima and products minima; sums and products
/// wrap around, so that signed integers are as unsigned ones.
template <class F>
auto dispatch_join(DType dtype, Reduce join, F&& f) {
  const auto of_any = [&]<class T>(dtype_tag<T>) {
    return join == Reduce::min ? f.template operator()<T, Reduce::min>()
                               : f.template operator()<T, Reduce::max>();
  };
  const auto of_bits = [&]<class T, class Signed>(dtype_tag<T> bits, dtype_tag<Signed> ordered) {
    if (join == Reduce::sum) return f.template operator()<T, Reduce::sum>();
    if (join == Reduce::prod) return f.template operator()<T, Reduce::prod>();
    const bool is_signed =
        dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
    return is_signed ? of_any(ordered) : of_any(bits);
  };
  switch (dtype) {
    case DType::boolean:
      if (join == Reduce::sum || join == Reduce::max)
        return f.template operator()<std::uint8_t, Reduce::max>();
      return f.template operator()<std::uint8_t, Reduce::min>();
    case DType::u8:
    case DType::i8: return of_bits(dtype_tag<std::uint8_t>{}, dtype_tag<std::int8_t>{});
    case DType::u16:
    case DType::i16: return of_bits(dtype_tag<std::uint16_t>{}, dtype_tag<std::int16_t>{});
    case DType::u32:
    case DType::i32: return of_bits(dtype_tag<std::uint32_t>{}, dtype_tag<std::int32_t>{});
    case DType::u64:
    case DType::i64: return of_bits(dtype_tag<std::uint64_t>{}, dtype_tag<std::int64_t>{});
    case DType::f64: return of_bits(dtype_tag<double>{}, dtype_tag<double>{});
    default: return of_bits(dtype_tag<float>{}, dtype_tag<float>{});
  }
}

}  // namespace tenon::cpu
