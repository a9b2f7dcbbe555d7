// The 8-bit floating-point formats in vectors.
#pragma once
#include <type_traits>

#include "base/float8.h"
#include "kernels/cpu/simd_bytes.h"

namespace tenon::cpu::TENON_ISA {

/// A format of base/float8.h as the 16-bit ones are written in simd_half.h.
template <class T>
struct F8 {
  using Element = std::uint8_t;
  using Vector = vb;
  using Unaligned = vb_unaligned;

  static constexpr bool has_signed_zero = T::specials != Float8Specials::unsigned_zero;

  static TENON_INLINE vf widen(vb stored) {
    const vh wide = __builtin_convertvector(stored, vh);
    if constexpr (std::is_same_v<T, Float8E5M2>) return F16::widen(wide << 8);  // a float16's upper byte
    const vu code = __builtin_convertvector(wide, vu);
    const vu sign = (code & 0x80u) << 24, magnitude = code & 0x7fu;
    const vf subnormal = __builtin_convertvector(reinterpret_cast<vi>(magnitude), vf) * least;
    vu result = magnitude < (1u << T::mantissa) ? reinterpret_cast<vu>(subnormal)
                                                : (magnitude << T::shift) + T::rebias;
    if constexpr (has_signed_zero) {
      result = magnitude > T::largest ? vu{} + 0x7fc00000u : result;
      return reinterpret_cast<vf>(sign | result);
    }
    return reinterpret_cast<vf>(code == T::nan ? vu{} + 0x7fc00000u : sign | result);
  }
  static TENON_INLINE vb narrow(vf f) {
    const vu x = reinterpret_cast<vu>(f);
    const vu sign = (x >> 24) & 0x80u, magnitude = x & 0x7fffffffu;
    const vu subnormal = reinterpret_cast<vu>(reinterpret_cast<vf>(magnitude) + unit) - T::subnormal_unit;
    const vu half = vu{} + ((1u << (T::shift - 1)) - 1u);
    const vu normal = (magnitude + half + ((magnitude >> T::shift) & 1u) - T::rebias) >> T::shift;
    vu code = magnitude < T::least_normal ? subnormal : normal;
    code = code > T::largest ? vu{} + T::beyond : code;
    code = magnitude > 0x7f800000u ? vu{} + T::nan : code;
    if constexpr (has_signed_zero) return bytes_of(sign | code);
    const vu number = code == T::nan ? code : sign | code;
    return bytes_of(code == 0u ? code : number);
  }

 private:
  static constexpr float unit = __builtin_bit_cast(float, T::subnormal_unit);
  static constexpr float least = __builtin_bit_cast(float, T::subnormal_unit - (23u << 23));
};

}  // namespace tenon::cpu::TENON_ISA
