// Runs a RowGemm on the threads of a pool.
#pragma once
#include "kernels/cpu/row_gemm.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

void run_row_gemm(const RowGemm& g, ThreadPool& pool);

/// Floats of a packed B of depth K and N columns: panels of TileShape::cols columns, the last one padded with
/// zeros.
long packed_panels_size(long K, long N);

}  // namespace tenon::cpu
