// Shifts of integers of 8 and 16 bits, which have no vector instruction of their own everywhere. Built once
// per ISA.
#pragma once
#include "base/scalar.h"
#include "kernels/cpu/loop_pieces.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

template <class T>
constexpr bool is_narrow_integer = std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) < 4;

/// Of narrow integers by one number, as a product or in 16 bits: these are vector code.
template <Prim P, class T>
void shift_by_one_number(const OpArgs& args) {
  const T by = *static_cast<const T*>(args.in[1]);
  if constexpr (P == Prim::shift_left) {
    const auto factor = apply<T>(Prim::shift_left, T(1), by);
    for_each_piece<T, T>(args, [=](T* out, const T* a, long n) {
      TENON_NO_OVERLAP
      for (long i = 0; i < n; ++i) out[i] = static_cast<T>(a[i] * factor);
    });
  } else {
    const int all = 15, places = by < 0 || by > all ? all : by;
    for_each_piece<T, T>(args, [=](T* out, const T* a, long n) {
      TENON_NO_OVERLAP
      for (long i = 0; i < n; ++i) out[i] = static_cast<T>(static_cast<std::int16_t>(a[i]) >> places);
    });
  }
}
#if defined(__AVX512BW__)
/// The first lanes of 32 narrow integers in 16 bits.
template <class T>
TENON_INLINE __m512i load_in_16_bits(const T* from, __mmask32 lanes) {
  if constexpr (sizeof(T) == 2) return _mm512_maskz_loadu_epi16(lanes, from);
  const __m256i bytes = _mm256_maskz_loadu_epi8(lanes, from);
  return std::is_signed_v<T> ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes);
}
/// Narrow integers by as many places each: too many leave nothing, or the sign.
template <Prim P, class T>
TENON_INLINE void shift_in_16_bits(T* out, const T* a, const T* b, long n) {
  static_assert(!std::is_same_v<T, std::uint16_t>);  // its highest bit is no sign; loops hold it as i32
  for (long i = 0; i < n; i += 32) {
    const auto lanes = static_cast<__mmask32>(n - i >= 32 ? ~0u : (1u << (n - i)) - 1);
    const __m512i number = load_in_16_bits(a + i, lanes), by = load_in_16_bits(b + i, lanes);
    const __m512i shifted =
        P == Prim::shift_left ? _mm512_sllv_epi16(number, by) : _mm512_srav_epi16(number, by);
    if constexpr (sizeof(T) == 2)
      _mm512_mask_storeu_epi16(out + i, lanes, shifted);
    else
      _mm512_mask_cvtepi16_storeu_epi8(out + i, lanes, shifted);
  }
}
#endif
/// Narrow integers by as many places each: numbers of 32 bits have an instruction for it.
template <class T>
TENON_INLINE void shift_right_in_32_bits(T* out, const T* a, const T* b, long n) {
  std::int32_t numbers[piece_columns(sizeof(T))];
  for (long i = 0; i < n; ++i) numbers[i] = a[i];
  for (long i = 0; i < n; ++i) {
    const std::int32_t by = b[i];
    numbers[i] >>= by < 0 || by > 31 ? 31 : by;
  }
  for (long i = 0; i < n; ++i) out[i] = static_cast<T>(numbers[i]);
}

}  // namespace tenon::cpu::TENON_ISA
