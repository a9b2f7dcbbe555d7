// Winograd convolution on the threads of a pool: whole blocks of tiles side by side, or the steps of one
// block.
#include <algorithm>

#include "kernels/cpu/row_gemm.h"
#include "kernels/cpu/winograd.h"

namespace tenon::cpu {
namespace {

long cut(long whole, long pieces) { return (whole + pieces - 1) / pieces; }

struct Geometry {
  long points;
  long panels;
  long tiles;
  long block_tiles;
  long in_tile_stride;
  long in_point_stride;
  long out_tile_stride;
  long out_point_stride;

  Geometry(const ConvShape& s, long tile) {
    constexpr long widest_vector = 16;
    const long panel = row_gemm_tile().cols;
    points = (tile + 2) * (tile + 2);
    panels = cut(s.Cout, panel);
    tiles = s.N * cut(s.out(s.h), tile) * cut(s.out(s.w), tile);
    block_tiles = std::max(1L, winograd_block_tiles(s, tile));
    in_tile_stride = cut(s.Cin, widest_vector) * widest_vector + 16;
    in_point_stride = block_tiles * in_tile_stride + 16;
    out_tile_stride = panels * panel + 16;
    out_point_stride = block_tiles * out_tile_stride + 16;
  }
  long blocks() const { return cut(tiles, block_tiles); }
  long scratch() const { return points * (in_point_stride + out_point_stride); }
  // Enough blocks that every thread takes whole ones.
  bool blocks_in_parallel(int threads) const { return threads > 1 && blocks() >= 2 * threads; }
};

}  // namespace

bool winograd_supports(const ConvShape& s) {
  const auto fits = [](const ConvAxis& a) { return a.kernel == 3 && a.stride == 1 && a.dilation == 1; };
  return fits(s.h) && fits(s.w) && s.d.trivial() && s.groups == 1 && !s.transposed;
}

long winograd_packed_size(const ConvShape& s, long tile) {
  const Geometry g(s, tile);
  return g.points * g.panels * s.Cin * row_gemm_tile().cols;
}

void pack_winograd(const ConvShape& s, long tile, const float* weights, float* packed, ThreadPool& pool) {
  constexpr long channels_per_chunk = 8;
  pool.parallel_for(cut(s.Cin, channels_per_chunk), [&](long chunk, int) {
    const long begin = chunk * channels_per_chunk;
    winograd_pack(s, tile, weights, packed, {begin, std::min(s.Cin, begin + channels_per_chunk)});
  });
}

long winograd_scratch_size(const ConvShape& s, long tile, int threads) {
  const Geometry g(s, tile);
  return g.scratch() * (g.blocks_in_parallel(threads) ? threads : 1);
}

void conv_winograd(const ConvShape& s, long tile, const ConvRun& run, ThreadPool& pool) {
  const Geometry g(s, tile);
  const auto block_at = [&](long i, float* scratch) {
    return WinogradBlock{.shape = &s,
                         .run = &run,
                         .tile = tile,
                         .first_tile = i * g.block_tiles,
                         .tiles = std::min(g.block_tiles, g.tiles - i * g.block_tiles),
                         .transformed_in = scratch,
                         .in_tile_stride = g.in_tile_stride,
                         .in_point_stride = g.in_point_stride,
                         .products = scratch + g.points * g.in_point_stride,
                         .out_tile_stride = g.out_tile_stride,
                         .out_point_stride = g.out_point_stride};
  };
  if (g.blocks_in_parallel(pool.threads())) {
    pool.parallel_for(g.blocks(), [&](long i, int worker) {
      const WinogradBlock b = block_at(i, run.scratch + worker * g.scratch());
      winograd_input(b, {0, b.tiles});
      winograd_multiply(b, {0, g.points * g.panels});
      winograd_output(b, {0, b.tiles});
    });
    return;
  }
  const long pieces = pool.threads() == 1 ? 1 : 4 * pool.threads();
  const auto share = [&](long whole, auto body) {
    const long step = cut(whole, pieces);
    pool.parallel_for(cut(whole, step), [&](long c, int) {
      body(WinogradRange{c * step, std::min(whole, (c + 1) * step)});
    });
  };
  for (long i = 0; i < g.blocks(); i++) {
    const WinogradBlock b = block_at(i, run.scratch);
    share(b.tiles, [&](WinogradRange tiles) { winograd_input(b, tiles); });
    share(g.points * g.panels, [&](WinogradRange products) { winograd_multiply(b, products); });
    share(b.tiles, [&](WinogradRange tiles) { winograd_output(b, tiles); });
  }
}

}  // namespace tenon::cpu
