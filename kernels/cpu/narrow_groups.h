// Convolution of narrow groups, 1-d to 3-d; depthwise is a group of one channel.
#pragma once
#include "kernels/cpu/conv.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Do whole groups of outputs fill a vector, and does one hold what they read?
using RunsNarrowGroups = bool(const ConvShape& shape);
TENON_PER_ISA(RunsNarrowGroups, runs_narrow_groups, runs_narrow_groups)

/// conv_cost of groups of several channels.
using NarrowGroupsCost = double(const ConvShape& shape);
TENON_PER_ISA(NarrowGroupsCost, narrow_groups_cost, narrow_groups_cost)

/// Output rows [row_begin, row_end), counted over the batch and its planes. Packed weights: [kd * kh *
/// kw][Cin / groups][Cout].
using NarrowGroupRows = void(const ConvShape& shape, const ConvRun& run, long row_begin, long row_end);
TENON_PER_ISA(NarrowGroupRows, narrow_group_rows, narrow_group_rows)

}  // namespace tenon::cpu
