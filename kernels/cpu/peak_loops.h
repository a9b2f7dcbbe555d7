// The loops that peak.cpp times, built once per ISA.
#pragma once
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Runs independent chains of multiply-adds; returns how many operations they did.
using FmaChains = double();
TENON_PER_ISA(FmaChains, fma_chains, fma_chains)

/// The sum of n floats, n a multiple of 128.
using ReadStream = float(const float* p, long n);
TENON_PER_ISA(ReadStream, read_stream, read_stream)

/// a = b + s * c over n floats, n a multiple of 16.
using Triad = void(float* a, const float* b, const float* c, long n);
TENON_PER_ISA(Triad, triad, triad)

}  // namespace tenon::cpu
