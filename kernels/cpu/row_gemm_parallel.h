// Runs a RowGemm on the threads of a pool.
#pragma once
#include "kernels/cpu/row_gemm.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

void run_row_gemm(const RowGemm& g, ThreadPool& pool);

/// Words (PanelRows) of a panel whose depth is one run of K elements, and of a packed B of N columns: panels
/// of TileShape::cols columns, the last one padded with zeros.
long panel_size(long K, DType type = DType::f32);
long packed_panels_size(long K, long N, DType type = DType::f32);

/// Is a B of few columns packed column by column (RowGemm::by_columns) in place of panels? It takes `depth *
/// cols` words. `runs` and `run_length` are those of A.
bool packs_columns(long runs, long run_length, long cols, DType type);

}  // namespace tenon::cpu
