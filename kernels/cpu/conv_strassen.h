// 1x1 convolutions as products by Strassen's method (strassen.h).
#pragma once
#include "kernels/cpu/conv.h"

namespace tenon::cpu {

/// One product of all pixels?
bool conv_strassen_supports(const ConvShape& s);
/// Is it faster than ConvAlgorithm::gemm?
bool conv_strassen_pays(const ConvShape& s);
/// The share of its time; more than all where it does not pay.
double conv_strassen_time(const ConvShape& s);

long conv_strassen_packed_size(const ConvShape& s);
void pack_conv_strassen(const ConvShape& s, const float* weights, float* packed, ThreadPool& pool);
long conv_strassen_scratch_size(const ConvShape& s, int threads);
void conv_strassen(const ConvShape& s, const ConvRun& run, ThreadPool& pool);

}  // namespace tenon::cpu
