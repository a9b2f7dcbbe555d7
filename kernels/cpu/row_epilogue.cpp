#include "kernels/cpu/row_epilogue.h"

#include <algorithm>

#include "kernels/cpu/row_gemm.h"

namespace tenon::cpu {

// As a product by one.
void finish_sums(const Epilogue& epilogue, long row, long first, long cols, const float* sums, float* c) {
  static constexpr float one = 1;
  const TileShape tile = row_gemm_tile();
  RowGemm r;
  r.rows = 1;
  r.cols = cols;
  r.a = &one;
  r.run_length = 1;
  r.b = sums;
  r.b_row_stride = r.b_panel_stride = tile.cols;
  r.c = c + first;
  r.c_rows.x_stride = 1;
  r.epilogue = epilogue.from(row, first);
  r.hook_row = row;
  r.hook_col = first;
  row_gemm(r, {0, 1, 0, (cols + tile.cols - 1) / tile.cols});
}

void run_hook(const Epilogue& epilogue, float* c, long stride, const ResultSize& size, ThreadPool& pool) {
  constexpr long floats_per_chunk = 2048;
  const long step = std::max(1L, floats_per_chunk / size.cols);
  pool.parallel_for((size.rows + step - 1) / step, [&](long chunk, int) {
    const long row = chunk * step;
    epilogue.hook(epilogue.context, c + row * stride, stride, row, std::min(step, size.rows - row), 0,
                  size.cols);
  });
}

}  // namespace tenon::cpu
