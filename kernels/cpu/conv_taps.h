// Convolutions whose taps mostly read padding: wide dilations, kernels as large as the image.
#pragma once
#include "kernels/cpu/conv.h"

namespace tenon::cpu {

/// Operations that read no padding.
double conv_taps_flops(const ConvShape& s);
/// Does a tap read the image for every output? The others add to what is there before it.
bool conv_taps_cover(const ConvShape& s);
long conv_taps_packed_size(const ConvShape& s);
void pack_conv_taps(const ConvShape& s, const float* weights, float* packed, ThreadPool& pool);
void conv_taps(const ConvShape& s, const ConvRun& run, ThreadPool& pool);

}  // namespace tenon::cpu
