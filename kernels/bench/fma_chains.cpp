// Independent chains of multiply-adds in registers. Built once per ISA.
#include "kernels/bench/fma_peak.h"
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

}  // namespace tenon::cpu::TENON_ISA
