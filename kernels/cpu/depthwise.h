// Depthwise convolution, 1-d to 3-d: every channel has its own filter.
#pragma once
#include "kernels/cpu/conv.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Output rows [row_begin, row_end), counted over the batch and its planes. Packed weights: [kd * kh *
/// kw][channels].
using DepthwiseRows = void(const ConvShape& shape, const ConvRun& run, long row_begin, long row_end);
TENON_PER_ISA(DepthwiseRows, depthwise_rows, depthwise_rows)

}  // namespace tenon::cpu
