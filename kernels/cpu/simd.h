// The SIMD layer: one vector of floats as wide as the ISA this source is compiled for, on GCC vector
// extensions.
//
// Include it only from sources that are built once per ISA (TENON_ISA_SOURCES in kernels/CMakeLists.txt).
// Everything lives in tenon::cpu::<isa>, so the builds of one source link together. Put your code there too.
// Such sources must not leave behind any out-of-line function from another namespace (a std:: template that
// is not inlined): the linker would keep one copy for all ISAs. The test `kernels_isa_symbols` checks this.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if !defined(TENON_ISA) || !defined(TENON_VL)
#error "compile this source once per ISA: list it in TENON_ISA_SOURCES (kernels/CMakeLists.txt)"
#endif

#define TENON_INLINE inline __attribute__((always_inline))
/// Put before a loop over an array of vectors: the array stays in registers only if every such loop is
/// unrolled.
#define TENON_UNROLL _Pragma("GCC unroll 32")

namespace tenon::cpu::TENON_ISA {

/// Floats in one vector: 16 (avx512, wide), 8 (avx2), 4 (baseline).
inline constexpr int VL = TENON_VL;
/// How many vector registers there are.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int vector_registers = 32;
#else
inline constexpr int vector_registers = 16;
#endif

/// Vectors support + - * / & | ^ ~ << >>, comparisons (a vi of 0 / -1), `mask ? a : b`, v[i], and mixing with
/// scalars.
typedef float vf __attribute__((vector_size(VL * 4)));
typedef std::int32_t vi __attribute__((vector_size(VL * 4)));
typedef std::uint32_t vu __attribute__((vector_size(VL * 4)));
typedef float vf_unaligned __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef std::int32_t vi_unaligned __attribute__((vector_size(VL * 4), aligned(4), may_alias));

static TENON_INLINE vf load(const float* p) { return *reinterpret_cast<const vf_unaligned*>(p); }
static TENON_INLINE void store(float* p, vf v) { *reinterpret_cast<vf_unaligned*>(p) = v; }
static TENON_INLINE vi load(const std::int32_t* p) { return *reinterpret_cast<const vi_unaligned*>(p); }
static TENON_INLINE void store(std::int32_t* p, vi v) { *reinterpret_cast<vi_unaligned*>(p) = v; }
static TENON_INLINE vf broadcast(float x) { return x - vf{}; }
static TENON_INLINE vi broadcast(std::int32_t x) { return x - vi{}; }
/// The same bits as the other type.
static TENON_INLINE vi bits(vf v) { return reinterpret_cast<vi>(v); }
static TENON_INLINE vf from_bits(vi v) { return reinterpret_cast<vf>(v); }
/// Number conversion, towards zero as in C++. The float must fit an int32.
static TENON_INLINE vi to_int(vf v) { return __builtin_convertvector(v, vi); }
static TENON_INLINE vf to_float(vi v) { return __builtin_convertvector(v, vf); }
/// Is a lane of a comparison's result true?
static TENON_INLINE bool any(vi mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(mask), reinterpret_cast<__m512i>(mask)) != 0;
#elif defined(__AVX2__) && TENON_VL == 8
  return _mm256_testz_si256(reinterpret_cast<__m256i>(mask), reinterpret_cast<__m256i>(mask)) == 0;
#else
  std::int32_t lanes = 0;
  TENON_UNROLL
  for (int i = 0; i < VL; i++) lanes |= mask[i];
  return lanes != 0;
#endif
}
/// 0, 1, 2, ...
static TENON_INLINE vi iota() {
  vi v{};
  TENON_UNROLL
  for (int i = 0; i < VL; i++) v[i] = i;
  return v;
}

#if defined(__AVX512F__) || (defined(__AVX2__) && TENON_VL == 8)
#define TENON_PARTIAL TENON_INLINE
#else
#define TENON_PARTIAL __attribute__((noinline, unused))  // loops over lanes, which kernels would repeat
#endif
/// The first n floats (0 <= n <= VL), zero in the other lanes. Touches no memory beyond p[n-1].
static TENON_PARTIAL vf load_partial(const float* p, int n) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), p));
#elif defined(__AVX2__) && TENON_VL == 8
  return reinterpret_cast<vf>(_mm256_maskload_ps(p, reinterpret_cast<__m256i>(iota() < n)));
#else
  vf v{};
  for (int i = 0; i < n; i++) v[i] = p[i];
  return v;
#endif
}
/// Stores the first n lanes (0 <= n <= VL) and touches nothing else.
static TENON_PARTIAL void store_partial(float* p, vf v, int n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1u), reinterpret_cast<__m512>(v));
#elif defined(__AVX2__) && TENON_VL == 8
  _mm256_maskstore_ps(p, reinterpret_cast<__m256i>(iota() < n), reinterpret_cast<__m256>(v));
#else
  for (int i = 0; i < n; i++) p[i] = v[i];
#endif
}

/// The same for 1 <= n <= VL, where n is VL most of the time.
static TENON_INLINE vf load_lanes(const float* p, int n) { return n == VL ? load(p) : load_partial(p, n); }
static TENON_INLINE void store_lanes(float* p, vf v, int n) {
  n == VL ? store(p, v) : store_partial(p, v, n);
}

/// v[index] for each lane.
static TENON_INLINE vf permute(vf v, vi index) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(
      _mm512_permutexvar_ps(reinterpret_cast<__m512i>(index), reinterpret_cast<__m512>(v)));
#elif defined(__AVX2__) && TENON_VL == 8
  return reinterpret_cast<vf>(
      _mm256_permutevar8x32_ps(reinterpret_cast<__m256>(v), reinterpret_cast<__m256i>(index)));
#else
  float lanes[VL];
  store(lanes, v);
  TENON_UNROLL
  for (int i = 0; i < VL; i++) v[i] = lanes[index[i]];
  return v;
#endif
}

/// One instruction; where either lane is NaN the result is b. So max_or_b(0, x) is PyTorch's relu (NaN stays
/// NaN).
static TENON_INLINE vf max_or_b(vf a, vf b) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(_mm512_max_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__) && TENON_VL == 8
  return reinterpret_cast<vf>(_mm256_max_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#elif defined(__SSE2__) && TENON_VL == 4
  return reinterpret_cast<vf>(_mm_max_ps(reinterpret_cast<__m128>(a), reinterpret_cast<__m128>(b)));
#else
  return a > b ? a : b;
#endif
}
static TENON_INLINE vf min_or_b(vf a, vf b) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(_mm512_min_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__) && TENON_VL == 8
  return reinterpret_cast<vf>(_mm256_min_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#elif defined(__SSE2__) && TENON_VL == 4
  return reinterpret_cast<vf>(_mm_min_ps(reinterpret_cast<__m128>(a), reinterpret_cast<__m128>(b)));
#else
  return a < b ? a : b;
#endif
}
/// torch.maximum / torch.minimum: NaN if either lane is NaN.
static TENON_INLINE vf max(vf a, vf b) {
#if defined(__aarch64__)
  return reinterpret_cast<vf>(vmaxq_f32(reinterpret_cast<float32x4_t>(a), reinterpret_cast<float32x4_t>(b)));
#else
  return a != a ? a : max_or_b(a, b);
#endif
}
static TENON_INLINE vf min(vf a, vf b) {
#if defined(__aarch64__)
  return reinterpret_cast<vf>(vminq_f32(reinterpret_cast<float32x4_t>(a), reinterpret_cast<float32x4_t>(b)));
#else
  return a != a ? a : min_or_b(a, b);
#endif
}

/// Sum of the lanes, by halves: ((l0+l8)+(l4+l12))+...
static TENON_INLINE float hsum(vf v) {
  float lanes[VL];
  store(lanes, v);
  TENON_UNROLL
  for (int half = VL / 2; half > 0; half /= 2) {
    TENON_UNROLL
    for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}
/// Largest lane; NaN if any lane is NaN.
static TENON_INLINE float hmax(vf v) {
  float m = v[0];
  TENON_UNROLL
  for (int i = 1; i < VL; i++) m = (v[i] > m || v[i] != v[i]) ? v[i] : m;
  return m;
}

template <int... I>
struct LaneList {};
template <int N, int... I>
struct MakeLaneList : MakeLaneList<N - 1, N - 1, I...> {};
template <int... I>
struct MakeLaneList<0, I...> {
  using type = LaneList<I...>;
};

/// One butterfly step of a transpose: swaps the off-diagonal S x S blocks of rows a and b.
template <int S, int... I>
static TENON_INLINE void swap_blocks(vf& a, vf& b, LaneList<I...>) {
  const vf low = __builtin_shufflevector(a, b, ((I & S) ? VL + I - S : I)...);
  const vf high = __builtin_shufflevector(a, b, ((I & S) ? VL + I : I + S)...);
  a = low;
  b = high;
}
template <int S>
static TENON_INLINE void transpose_step(vf* r) {
  TENON_UNROLL
  for (int i = 0; i < VL; i++) {
    if (!(i & S)) swap_blocks<S>(r[i], r[i + S], typename MakeLaneList<VL>::type{});
  }
}
/// Transposes the VL x VL matrix whose rows are r[0..VL).
static TENON_INLINE void transpose(vf* r) {
  if constexpr (VL >= 16) transpose_step<8>(r);
  if constexpr (VL >= 8) transpose_step<4>(r);
  transpose_step<2>(r);
  transpose_step<1>(r);
}

}  // namespace tenon::cpu::TENON_ISA
