// The loops that peak.cpp times, built once per ISA.
#pragma once
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Runs independent chains of multiply-adds; returns how many operations they did. 0: products have no
/// instruction for them here, or better ones.
using MultiplyAdds = double();
TENON_PER_ISA(MultiplyAdds, float_chains, float_chains)
TENON_PER_ISA(MultiplyAdds, double_chains, double_chains)
TENON_PER_ISA(MultiplyAdds, pair_chains, pair_chains)            // of bfloat16
TENON_PER_ISA(MultiplyAdds, byte_chains, byte_chains)            // unsigned by signed
TENON_PER_ISA(MultiplyAdds, unit_pair_chains, unit_pair_chains)  // the same on the matrix unit
TENON_PER_ISA(MultiplyAdds, unit_byte_chains, unit_byte_chains)

/// The sum of n floats, n a multiple of 128.
using ReadStream = float(const float* p, long n);
TENON_PER_ISA(ReadStream, read_stream, read_stream)

/// a = b + s * c over n floats, n a multiple of 16.
using Triad = void(float* a, const float* b, const float* c, long n);
TENON_PER_ISA(Triad, triad, triad)

}  // namespace tenon::cpu
