// Products of matrices of 16-bit floats with a vector, which read the matrix as it lies.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// y[m] = bias + the sum of a[m][k] * x[k] over k < depth, held in float32 and rounded once. `type`: f16 or
/// bf16.
struct HalfDots {
  DType type = DType::bf16;
  long depth = 0;
  const std::uint16_t* a = nullptr;
  long a_row = 0;
  const std::uint16_t* x = nullptr;
  std::uint16_t* y = nullptr;
  const std::uint16_t* bias = nullptr;  // one number; null: 0
};
/// Of the rows [first, last).
using HalfDotsOfRows = void(const HalfDots& dots, long first, long last);
TENON_PER_ISA(HalfDotsOfRows, half_dots, half_dots)

}  // namespace tenon::cpu
