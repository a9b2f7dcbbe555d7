// Casts between floats and integers as vector code: of 64 bits by the bits of doubles where an ISA has no
// instruction for them, of fewer by one that gives what convert() does. Part of loop_ops_types.cpp, built
// once per ISA.
#pragma once
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/loop_pieces.h"
#include "kernels/cpu/simd_lanes.h"

namespace tenon::cpu::TENON_ISA {
namespace {

#if defined(__AVX512DQ__) || defined(__aarch64__)
inline constexpr bool has_wide_casts = true;
#else
inline constexpr bool has_wide_casts = false;
#endif

/// The double nearest to x: both halves are exact beside a power of two, and their sum is rounded once.
TENON_INLINE double double_of(std::int64_t x) {
  const auto bits = static_cast<std::uint64_t>(x);
  constexpr std::uint64_t low = 0x4330000000000000, high = 0x4530000080000000;  // 2^52, 2^84 + 2^63
  constexpr auto together = __builtin_bit_cast(double, 0x4530000080100000);
  return (__builtin_bit_cast(double, high ^ (bits >> 32)) - together) +
         __builtin_bit_cast(double, low | (bits & 0xffffffffu));
}
/// x cut to an integer, for |x| < 2^51.
TENON_INLINE std::int64_t integer_of(double x) {
  constexpr double whole = 0x1.8p52;  // the last bit of such a double is a one
  return __builtin_bit_cast(std::int64_t, __builtin_trunc(x) + whole) -
         __builtin_bit_cast(std::int64_t, whole);
}

/// Are they integers that a double has, or floats that integer_of takes?
TENON_INLINE bool fit_doubles(const std::int64_t* a, long n) {
  std::uint64_t large = 0;
  for (long i = 0; i < n; ++i) large |= (static_cast<std::uint64_t>(a[i]) + (1ull << 53)) >> 54;
  return large == 0;
}
template <class T>
TENON_INLINE bool fit_doubles(const T* a, long n) {
  std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t> others = 0;
  for (long i = 0; i < n; ++i) others += (a[i] > T(-0x1p51)) & (a[i] < T(0x1p51)) ? 0 : 1;
  return others == 0;
}

/// Cuts a vector of floats to integers of 32 bits; what does not fit becomes the least one.
#if defined(__AVX512F__)
#define TENON_CUTS_VECTORS
TENON_INLINE void cut_vector(const float* a, std::int32_t* to) {
  _mm512_storeu_si512(to, _mm512_cvttps_epi32(_mm512_loadu_ps(a)));
}
TENON_INLINE void cut_vector(const double* a, std::int32_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvttpd_epi32(_mm512_loadu_pd(a)));
}
#elif defined(__AVX2__) && TENON_VL == 8
#define TENON_CUTS_VECTORS
TENON_INLINE void cut_vector(const float* a, std::int32_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_cvttps_epi32(_mm256_loadu_ps(a)));
}
TENON_INLINE void cut_vector(const double* a, std::int32_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvttpd_epi32(_mm256_loadu_pd(a)));
}
#elif defined(__SSE2__) && TENON_VL == 4
#define TENON_CUTS_VECTORS
TENON_INLINE void cut_vector(const float* a, std::int32_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_cvttps_epi32(_mm_loadu_ps(a)));
}
TENON_INLINE void cut_vector(const double* a, std::int32_t* to) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_cvttpd_epi32(_mm_loadu_pd(a)));
}
#endif

/// Cuts floats to integers of 32 bits, of which To keeps the low ones, as many as fill vectors: how many
/// those were.
template <class To, class From, class Out>
TENON_INLINE long cut_vectors([[maybe_unused]] const From* a, [[maybe_unused]] long n,
                              [[maybe_unused]] Out* out) {
  long i = 0;
#ifdef TENON_CUTS_VECTORS
  constexpr bool is_whole = std::is_same_v<Out, std::int32_t> && std::is_same_v<To, Out>;
  constexpr long lanes = Lanes<From>::count, at_once = is_whole ? lanes : 64;
  [[maybe_unused]] std::int32_t cut[at_once];
  for (; i + at_once <= n; i += at_once) {
    if constexpr (is_whole) {
      cut_vector(a + i, out + i);
    } else {
      for (long j = 0; j < at_once; j += lanes) cut_vector(a + i + j, cut + j);
      for (long j = 0; j < at_once; j++) out[i + j] = static_cast<Out>(static_cast<To>(cut[j]));
    }
  }
#endif
  return i;
}
#undef TENON_CUTS_VECTORS

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
