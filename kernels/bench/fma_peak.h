// The multiply-add peak of one core, measured.
#pragma once
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Runs independent chains of multiply-adds for the ISA; returns how many operations they did.
using FmaChains = double();
TENON_PER_ISA(FmaChains, fma_chains, fma_chains)

/// GFLOP/s of one core with nothing but multiply-adds in registers; measured once.
double fma_peak_gflops();

}  // namespace tenon::cpu
