// Vectors of elements of any type, as wide as those of floats. Per-ISA code.
#pragma once
#include <type_traits>

#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

template <class T>
struct Lanes {
  typedef T V __attribute__((vector_size(VL * 4)));
  typedef T Unaligned __attribute__((vector_size(VL * 4), aligned(alignof(T)), may_alias));
  static constexpr long count = static_cast<long>(VL * 4 / sizeof(T));
  static TENON_INLINE V load(const T* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static TENON_INLINE void store(T* p, V v) { *reinterpret_cast<Unaligned*>(p) = v; }
  /// The first n lanes, 1 <= n <= count: no other memory is touched.
  static TENON_INLINE V load_first(const T* p, long n) {
    if (n == count) return load(p);
    if constexpr (has_partial_floats)
      return reinterpret_cast<V>(
          cpu::TENON_ISA::load_partial(reinterpret_cast<const float*>(p), static_cast<int>(n)));
#if defined(__AVX512F__)
    else if constexpr (sizeof(T) == 1)
      return reinterpret_cast<V>(_mm512_maskz_loadu_epi8((__mmask64{1} << n) - 1, p));
    else if constexpr (sizeof(T) == 2)
      return reinterpret_cast<V>(_mm512_maskz_loadu_epi16((__mmask32{1} << n) - 1, p));
    else
      return reinterpret_cast<V>(_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1u), p));
#else
#if defined(__AVX2__) && TENON_VL == 8
    if constexpr (sizeof(T) == 8)
      return reinterpret_cast<V>(_mm256_maskload_pd(reinterpret_cast<const double*>(p), first_lanes(n)));
#endif
    V v{};
    for (long i = 0; i < n; i++) v[i] = p[i];
    return v;
#endif
  }
  static TENON_INLINE void store_first(T* p, V v, long n) {
    if (n == count) return store(p, v);
    if constexpr (has_partial_floats)
      return cpu::TENON_ISA::store_partial(reinterpret_cast<float*>(p), reinterpret_cast<vf>(v),
                                           static_cast<int>(n));
#if defined(__AVX512F__)
    else if constexpr (sizeof(T) == 1)
      _mm512_mask_storeu_epi8(p, (__mmask64{1} << n) - 1, reinterpret_cast<__m512i>(v));
    else if constexpr (sizeof(T) == 2)
      _mm512_mask_storeu_epi16(p, (__mmask32{1} << n) - 1, reinterpret_cast<__m512i>(v));
    else
      _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1u), reinterpret_cast<__m512d>(v));
#else
#if defined(__AVX2__) && TENON_VL == 8
    if constexpr (sizeof(T) == 8)
      return _mm256_maskstore_pd(reinterpret_cast<double*>(p), first_lanes(n), reinterpret_cast<__m256d>(v));
#endif
    for (long i = 0; i < n; i++) p[i] = v[i];
#endif
  }
  static TENON_INLINE T sum(V v) {
    T parts[count];
    store(parts, v);
    TENON_UNROLL
    for (long half = count / 2; half > 0; half /= 2) {
      TENON_UNROLL
      for (long i = 0; i < half; i++) parts[i] += parts[i + half];
    }
    return parts[0];
  }

 private:
#if defined(__AVX512F__) || (defined(__AVX2__) && TENON_VL == 8)
  static constexpr bool has_partial_floats = sizeof(T) == sizeof(float);  // by instructions, of integers too
#else
  static constexpr bool has_partial_floats = std::is_same_v<T, float>;
#endif
#if defined(__AVX2__) && TENON_VL == 8
  static TENON_INLINE __m256i first_lanes(long n) {  // of 8 bytes each
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  }
#endif
};

}  // namespace tenon::cpu::TENON_ISA
