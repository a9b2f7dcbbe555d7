// The two halves of a resized row. Internal to resample.cpp.
#pragma once
#include "kernels/cpu/isa.h"
#include "kernels/cpu/resample.h"

namespace tenon::cpu {

/// to[i] = the sum of weights[r] * rows[r][i] for `count` numbers.
template <class T>
using SumRows = void(const T* const* rows, const T* weights, long sums, T* to, long count);
TENON_PER_ISA(SumRows<float>, sum_rows_f32, sum_rows_f32)
TENON_PER_ISA(SumRows<double>, sum_rows_f64, sum_rows_f64)

/// The last axis of one row of pixels of `inner` numbers.
template <class T>
struct AlongRow {
  long out, taps, inner;
  long in_pixel, out_pixel;  // numbers from one pixel to the next
  const std::int32_t* places;
  const T* weights;
};
template <class T>
using ResampleRow = void(const AlongRow<T>& axis, const T* row, T* to);
TENON_PER_ISA(ResampleRow<float>, resample_row_f32, resample_row_f32)
TENON_PER_ISA(ResampleRow<double>, resample_row_f64, resample_row_f64)

}  // namespace tenon::cpu
