// How numbers lie in a row, and conversions of and to the formats of 16 and 8 bits. Part of
// loop_ops_simd.cpp, built once per ISA.
#pragma once
#include <type_traits>

#include "kernels/cpu/loop_ops.h"
#include "kernels/cpu/loop_rows.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/simd_float8.h"
#include "kernels/cpu/simd_half.h"

namespace tenon::cpu::TENON_ISA {

namespace {

/// Numbers that lie in a row in a format of 16 bits.
template <class Format>
struct HalfFloats {
  using Element = typename Format::Element;
  using Unaligned = typename Format::Unaligned;
  using Value = float;
  using Vector = vf;
  static constexpr long count = VL;
  static TENON_INLINE vf broadcast(float x) { return cpu::TENON_ISA::broadcast(x); }
  static TENON_INLINE vf get(const Element* p) {
    return Format::widen(*reinterpret_cast<const Unaligned*>(p));
  }
  static TENON_INLINE vf get(const Element* p, int n) { return Format::widen(load_partial(p, n)); }
  static TENON_INLINE void put(Element* p, vf v) { *reinterpret_cast<Unaligned*>(p) = Format::narrow(v); }
  static TENON_INLINE void put(Element* p, vf v, int n) { store_partial(p, Format::narrow(v), n); }
  /// Two vectors side by side.
  static TENON_INLINE void put_two(Element* p, vf low, vf high) {
#if defined(__AVX512BW__)
    if constexpr (std::is_same_v<Format, BF16>) {
      // Rounded as BF16::narrow does, in the upper halves, which one instruction takes out of both.
      const auto rounded = [](vf f) __attribute__((always_inline)) {
        const auto x = reinterpret_cast<__m512i>(f);
        const __m512i odd = _mm512_and_epi32(_mm512_srli_epi32(x, 16), _mm512_set1_epi32(1));
        const __m512i nearest = _mm512_add_epi32(_mm512_add_epi32(x, _mm512_set1_epi32(0x7fff)), odd);
        const auto v = reinterpret_cast<__m512>(f);
        return _mm512_mask_or_epi32(nearest, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), x,
                                    _mm512_set1_epi32(0x400000));
      };
      const vu odd_places = reinterpret_cast<vu>(iota()) * 0x00040004u + 0x00030001u;  // 1, 3, 5, ...
      _mm512_storeu_si512(
          p, _mm512_permutex2var_epi16(rounded(low), reinterpret_cast<__m512i>(odd_places), rounded(high)));
      return;
    }
#endif
    put(p, low);
    put(p + VL, high);
  }
};

/// The same as they lie; one for all columns is rounded.
template <class Format>
struct HalfBits : NumbersOf<std::uint16_t> {
  using Value = float;
  static TENON_INLINE Vector broadcast(float x) {
    return NumbersOf<std::uint16_t>::broadcast(Format::narrow(cpu::TENON_ISA::broadcast(x))[0]);
  }
};

/// Doubles in a row, which are rounded to floats as they are read.
struct NarrowedDoubles {
  using Element = double;
  using Value = float;
  using Vector = vf;
  static TENON_INLINE vf broadcast(float x) { return cpu::TENON_ISA::broadcast(x); }
  static TENON_INLINE vf get(const double* p) {
#if defined(__AVX512F__)
    const __m256 low = _mm512_cvtpd_ps(_mm512_loadu_pd(p)), high = _mm512_cvtpd_ps(_mm512_loadu_pd(p + 8));
    return reinterpret_cast<vf>(_mm512_castpd_ps(
        _mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(low)), _mm256_castps_pd(high), 1)));
#elif defined(__AVX2__) && TENON_VL == 8
    return reinterpret_cast<vf>(
        _mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(p + 4)), _mm256_cvtpd_ps(_mm256_loadu_pd(p))));
#else
    return get(p, VL);
#endif
  }
  static TENON_INLINE vf get(const double* p, int n) {
    vf v{};
    for (int i = 0; i < n; i++) v[i] = static_cast<float>(p[i]);
    return v;
  }
};

// Vectors that are moved in one step: of one, too few loads are on their way at once.
constexpr long moved_together = 4;

template <class Format>
void load_small(const Transfer& transfer) {
  const Transfer t = transfer;  // what is written may not lie here
  using Numbers = HalfFloats<Format>;
  for (long r = 0; r < t.rows; r++) {
    const auto* const from = reinterpret_cast<const typename Format::Element*>(t.memory) + r * t.memory_pitch;
    float* const to = static_cast<float*>(t.values) + r * t.values_pitch;
    long c = 0;
    for (; c + moved_together * VL <= t.cols; c += moved_together * VL) {
      TENON_UNROLL
      for (long j = 0; j < moved_together; j++) store(to + c + j * VL, Numbers::get(from + c + j * VL));
    }
    for (; c + VL <= t.cols; c += VL) store(to + c, Numbers::get(from + c));
    const int rest = static_cast<int>(t.cols - c);
    if (rest > 0) store_partial(to + c, Numbers::get(from + c, rest), rest);
  }
}
template <class Format>
void store_small(const Transfer& transfer) {
  const Transfer t = transfer;
  using Numbers = HalfFloats<Format>;
  for (long r = 0; r < t.rows; r++) {
    const float* const from = static_cast<const float*>(t.values) + r * t.values_pitch;
    auto* const to = reinterpret_cast<typename Format::Element*>(t.memory) + r * t.memory_pitch;
    const vf splat = broadcast(t.splat && t.cols > 0 ? *from : 0.0f);
    long c = 0;
    if (!t.splat) {
      for (; c + moved_together * VL <= t.cols; c += moved_together * VL) {
        TENON_UNROLL
        for (long j = 0; j < moved_together; j += 2)
          Numbers::put_two(to + c + j * VL, load(from + c + j * VL), load(from + c + (j + 1) * VL));
      }
    }
    for (; c + VL <= t.cols; c += VL) Numbers::put(to + c, t.splat ? splat : load(from + c));
    const int rest = static_cast<int>(t.cols - c);
    if (rest > 0) Numbers::put(to + c, t.splat ? splat : load_partial(from + c, rest), rest);
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
