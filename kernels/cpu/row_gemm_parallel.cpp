// Cuts a RowGemm into chunks of row tiles x column panels for the pool.
#include "kernels/cpu/row_gemm_parallel.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/alignment.h"
#include "kernels/cpu/row_dots.h"

namespace tenon::cpu {
namespace {

long cut(long whole, long pieces) { return (whole + pieces - 1) / pieces; }

// A chunk is worth claiming from about 3 us of work on.
constexpr double min_chunk_flops = 0.3e6;
// Several chunks a thread, so that a thread that is interrupted leaves its share to the others. One where a
// share is less than about 30 us of work: it hardly is, and chunks that read the same rows or panels are
// fewer.
constexpr long chunks_per_thread = 4;
constexpr double short_flops = 5e6;

double flops_of(const RowGemm& g) {
  return 2.0 * static_cast<double>(g.rows) * static_cast<double>(g.cols) *
         static_cast<double>(std::max(1L, g.depth()));
}

// Chunks that a product should be cut into.
long wanted_chunks(const RowGemm& g, int threads) {
  if (threads == 1) return 1;
  const double flops = flops_of(g);
  const long useful = static_cast<long>(std::min(flops / min_chunk_flops, 1e6));
  const bool is_short = flops < short_flops * threads;
  return std::clamp(useful, 1L, scaled(is_short ? 1 : chunks_per_thread, g.schedule.pieces) * threads);
}

void run_row_dots(const RowGemm& g, ThreadPool& pool) {
  const long step = cut(g.rows, std::min(g.rows, wanted_chunks(g, pool.threads())));
  pool.parallel_for(cut(g.rows, step), [&](long chunk, int) {
    row_dots(g, chunk * step, std::min(g.rows, (chunk + 1) * step));
  });
}

}  // namespace

float* row_packing() {
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  constexpr std::size_t bytes = row_packing_words * sizeof(float);
  thread_local const std::unique_ptr<float, Free> words(
      static_cast<float*>(std::aligned_alloc(page_bytes, bytes)));
  if (!words) throw std::bad_alloc();
  return words.get();
}

long panel_size(long K, DType type) {
  const PanelRows rows(type, row_gemm_tile().cols, K);
  return rows.per_run * rows.words;
}

long packed_panels_size(long K, long N, DType type) {
  return cut(N, row_gemm_tile().cols) * panel_size(K, type);
}

bool packs_columns(long runs, long run_length, long cols, DType type) {
  return type == DType::f32 && row_dots_pay(runs, run_length, cols);
}

void run_row_gemm(const RowGemm& g, ThreadPool& pool) {
  if (g.rows == 0 || g.cols == 0) return;
  if (g.by_columns) return run_row_dots(g, pool);
  const TileShape shape = row_gemm_tile();
  const long tiles = row_gemm_tiles(g).count;
  const long panels = cut(g.cols, shape.cols);
  const long wanted = wanted_chunks(g, pool.threads());
  // The larger side is cut first: a thread then has its own part of that, and shares the smaller one. Only A
  // that is read where it lies is shared, since each chunk packs its rows.
  const bool wide = g.schedule.split == Schedule::Split::rule ? g.cols > g.rows
                                                              : g.schedule.split == Schedule::Split::columns;
  const bool shares_a = wide && g.b_type != DType::bf16 && !g.a_halves;
  const long least_tiles = shares_a ? cut(wanted, std::min(wanted, panels)) : wanted;
  const long tile_chunk = cut(tiles, std::min(least_tiles, tiles));
  const long row_chunks = cut(tiles, tile_chunk);
  const long panel_chunk = cut(panels, std::min(cut(wanted, row_chunks), panels));
  const long col_chunks = cut(panels, panel_chunk);
  pool.parallel_for(row_chunks * col_chunks, [&](long chunk, int) {
    const long t = chunk / col_chunks * tile_chunk;
    const long p = chunk % col_chunks * panel_chunk;
    row_gemm(g, {t, std::min(tiles, t + tile_chunk), p, std::min(panels, p + panel_chunk)});
  });
}

}  // namespace tenon::cpu
