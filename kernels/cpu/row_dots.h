// Products of few columns: vectors run over the depth, and each result is the sum of the lanes of one.
#pragma once
#include "kernels/cpu/row_gemm.h"

namespace tenon::cpu {

/// Do products of these runs of A by so many columns take less time so (RowGemm::by_columns)? A tile would
/// leave most of its columns empty.
using DotsPay = bool(long runs, long run_length, long cols);
TENON_PER_ISA(DotsPay, row_dots_pay, row_dots_pay)

/// Rows [begin, end) of a RowGemm that is by_columns: with A and B of float32.
using RowDots = void(const RowGemm& g, long begin, long end);
TENON_PER_ISA(RowDots, row_dots, row_dots)

}  // namespace tenon::cpu
