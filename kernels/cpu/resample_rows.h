// The two halves of a resized row. Internal to resample.cpp.
#pragma once
#include "kernels/cpu/isa.h"
#include "kernels/cpu/resample.h"

namespace tenon::cpu {

/// to[i] = the sum of weights[r] * rows[r][i] for `count` numbers.
using SumRows = void(const float* const* rows, const float* weights, long sums, float* to, long count);
TENON_PER_ISA(SumRows, sum_rows, sum_rows)

/// The last axis of one row of pixels of `inner` numbers.
struct AlongRow {
  long out, taps, inner;
  const std::int32_t* places;
  const float* weights;
};
using ResampleRow = void(const AlongRow& axis, const float* row, float* to);
TENON_PER_ISA(ResampleRow, resample_row, resample_row)

}  // namespace tenon::cpu
