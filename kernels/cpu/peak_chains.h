// Independent chains of multiply-adds in registers, of which peak.cpp takes the time. Per-ISA code.
#pragma once
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

/// Runs chains of sum = add(sum, factor), which does so many operations; returns how many all of them did.
/// To the compiler no two chains are the same, and the factor is another one in each step.
template <class V, class Add>
static TENON_INLINE double run_chains(V factor, long operations, Add add) {
  constexpr int chains = 12;
  constexpr int steps = 20000;
  const auto changes = [&]() __attribute__((always_inline)) { asm volatile("" : "+m"(factor)); };
  V sum[chains];
  TENON_UNROLL
  for (int i = 0; i < chains; i++) {
    sum[i] = factor;
    changes();
  }
  for (int step = 0; step < steps; step++) {
    TENON_UNROLL
    for (int i = 0; i < chains; i++) sum[i] = add(sum[i], factor);
    changes();
  }
  TENON_UNROLL
  for (int i = 0; i < chains; i++) {
    factor = sum[i];
    changes();
  }
  return static_cast<double>(operations) * chains * steps;
}

}  // namespace tenon::cpu::TENON_ISA
