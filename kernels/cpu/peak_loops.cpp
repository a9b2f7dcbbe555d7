// Chains of multiply-adds that each CPU of an ISA has, and streams over memory. Built once per ISA.
#include "kernels/cpu/peak_loops.h"

#include "kernels/cpu/peak_chains.h"
#include "kernels/cpu/simd_lanes.h"

namespace tenon::cpu::TENON_ISA {
namespace {

template <class T>
double chains_of() {
  using V = typename Lanes<T>::V;
  const V term = V{} + static_cast<T>(0.001);
  return run_chains(
      V{} + static_cast<T>(0.999), 2 * Lanes<T>::count, [&](V sum, V factor) __attribute__((always_inline)) {
        return sum * factor + term;
      });
}

}  // namespace

double float_chains() { return chains_of<float>(); }
double double_chains() { return chains_of<double>(); }

#if defined(__AVX2__) && TENON_VL == 8
// As tile_kernel_split.cpp has them.
double byte_chains() {
  const __m256i ones = _mm256_set1_epi16(1);
  return run_chains(
      vi{} + 0x01010101, 2 * 4 * VL, [&](vi sum, vi factor) __attribute__((always_inline)) {
        const __m256i pairs =
            _mm256_maddubs_epi16(reinterpret_cast<__m256i>(sum), reinterpret_cast<__m256i>(factor));
        return sum + reinterpret_cast<vi>(_mm256_madd_epi16(pairs, ones));
      });
}
#elif !defined(__AVX512F__)
double byte_chains() { return 0; }
#endif
#if !defined(__AVX512F__)  // which peak_dots.cpp is for
double pair_chains() { return 0; }
#endif
#if TENON_VL != 16  // which peak_unit.cpp is for
double unit_pair_chains() { return 0; }
double unit_byte_chains() { return 0; }
#endif

float read_stream(const float* p, long n) {
  constexpr int streams = 8;
  vf sum[streams] = {};
  for (long i = 0; i < n; i += streams * VL) {
    TENON_UNROLL
    for (int s = 0; s < streams; s++) sum[s] += load(p + i + s * VL);
  }
  vf total{};
  TENON_UNROLL
  for (int s = 0; s < streams; s++) total += sum[s];
  return hsum(total);
}

void triad(float* a, const float* b, const float* c, long n) {
  const vf scale = broadcast(0.5f);
  for (long i = 0; i < n; i += VL) store(a + i, load(b + i) + scale * load(c + i));
}

}  // namespace tenon::cpu::TENON_ISA
