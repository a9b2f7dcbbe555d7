// Independent chains of multiply-adds in registers, and streams over memory. Built once per ISA.
#include "kernels/cpu/peak_loops.h"

#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

double fma_chains() {
  constexpr int chains = 12;
  constexpr int steps = 20000;
  vf sum[chains];
  TENON_UNROLL
  for (int i = 0; i < chains; i++) sum[i] = broadcast(static_cast<float>(i));
  vf factor = broadcast(0.999f);
  const vf term = broadcast(0.001f);
  for (int step = 0; step < steps; step++) {
    TENON_UNROLL
    for (int i = 0; i < chains; i++) sum[i] = sum[i] * factor + term;
    asm volatile("" : "+m"(factor));
  }
  volatile float sink;
  TENON_UNROLL
  for (int i = 0; i < chains; i++) sink = sum[i][0];
  static_cast<void>(sink);
  return 2.0 * VL * chains * steps;
}

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
