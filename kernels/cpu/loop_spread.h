// Writing of every n-th element. Built once per ISA.
#pragma once
#include <cstdint>
#include <utility>

#include "kernels/cpu/loop_pieces.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

#if defined(__AVX512BW__)
/// Of the p-th of n vectors: the lanes whose places are multiples of n.
template <long n, long p, class T>
constexpr std::uint64_t lanes_of_spread = [] {
  constexpr long lanes = 64 / static_cast<long>(sizeof(T));
  std::uint64_t mask = 0;
  for (long i = 0; i < lanes; ++i) mask |= std::uint64_t{(p * lanes + i) % n == 0} << i;
  return mask;
}();

/// Lanes of 2, 4 or 8 bytes in memory, of which those of the mask are touched.
template <std::uint64_t mask, class T>
TENON_INLINE __m512i load_lanes(const T* from) {
  if constexpr (sizeof(T) == 2) return _mm512_maskz_loadu_epi16(static_cast<__mmask32>(mask), from);
  if constexpr (sizeof(T) == 4) return _mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), from);
  if constexpr (sizeof(T) == 8) return _mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask), from);
}
template <std::uint64_t mask, class T>
TENON_INLINE void store_lanes(T* to, __m512i x) {
  if constexpr (sizeof(T) == 2) _mm512_mask_storeu_epi16(to, static_cast<__mmask32>(mask), x);
  if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), x);
  if constexpr (sizeof(T) == 8) _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), x);
}
/// The lanes of x at the places / n of the p-th of n vectors.
template <long n, long p, class T, std::size_t... I>
TENON_INLINE __m512i part_of_spread(__m512i x, std::index_sequence<I...>) {
  using Lanes [[gnu::vector_size(64)]] = T;
  constexpr long first = p * static_cast<long>(sizeof...(I));
  const Lanes lanes = reinterpret_cast<Lanes>(x);
  return reinterpret_cast<__m512i>(
      __builtin_shufflevector(lanes, lanes, ((first + static_cast<long>(I)) / n)...));
}
/// Calls f with 0 to n - 1 as constants.
template <long n, class F>
TENON_INLINE void for_each_part(F f) {
  [&]<long... p>(std::integer_sequence<long, p...>) __attribute__((always_inline)) {
    (f(std::integral_constant<long, p>{}), ...);
  }
  (std::make_integer_sequence<long, n>{});
}
#endif

/// to[i * n] = from[i * step] for i < count, where step is 1 or n. Instructions that scatter take several
/// times as long as masked stores.
template <long n, long step, class T>
[[gnu::noinline]] void spread(const T* from, T* to, long count) {
  static_assert(step == 1 || step == n);
  long i = 0;
#if defined(__AVX512BW__)
  if constexpr (sizeof(T) >= 2) {
    constexpr long lanes = 64 / static_cast<long>(sizeof(T));
    for (; i + lanes <= count; i += lanes) {
      const T* const source = from + i * step;
      T* const target = to + i * n;
      for_each_part<n>([&](auto p) __attribute__((always_inline)) {
        constexpr std::uint64_t mask = lanes_of_spread<n, p(), T>;
        if constexpr (step == 1)
          store_lanes<mask>(
              target + p() * lanes,
              part_of_spread<n, p(), T>(_mm512_loadu_si512(source), std::make_index_sequence<lanes>{}));
        else
          store_lanes<mask>(target + p() * lanes, load_lanes<mask>(source + p() * lanes));
      });
    }
  }
#endif
  TENON_NO_OVERLAP
  for (; i < count; i++) to[i * n] = from[i * step];
}

}  // namespace tenon::cpu::TENON_ISA
