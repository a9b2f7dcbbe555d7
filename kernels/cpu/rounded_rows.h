// The epilogue of results in 16-bit floats, on sums of float32.
#pragma once
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// x = round(x); x = x + residual, perhaps rounded; x = activation(x), perhaps rounded. Numbers stay float32.
struct RoundedRows {
  enum class To { f16, bf16 } to;
  Activation activation = Activation::none;
  bool adds = false;  // a residual
  bool rounds_sum = false, rounds_result = false;
};

/// Of rows x cols numbers, in place. The residual is null where there is none. Strides count floats.
using FinishRounded = void(const RoundedRows& how, float* x, long stride, const float* residual,
                           long residual_stride, long rows, long cols);
TENON_PER_ISA(FinishRounded, finish_rounded, finish_rounded)

}  // namespace tenon::cpu
