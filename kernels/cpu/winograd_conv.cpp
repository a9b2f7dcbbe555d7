// Winograd convolution on the threads of a pool: whole blocks of tiles side by side, or the steps of one
// block.
#include <algorithm>
#include <bit>
#include <mutex>
#include <vector>

#include "base/half.h"
#include "kernels/cpu/conv_gemm.h"
#include "kernels/cpu/row_gemm.h"
#include "kernels/cpu/winograd.h"

namespace tenon::cpu {
namespace {

long cut(long whole, long pieces) { return (whole + pieces - 1) / pieces; }

constexpr long widest_vector = 16;

long points_of(const ConvShape& s, long tile) { return winograd_points(s, tile) * winograd_points(s, tile); }
long panels_of(const ConvShape& s) { return cut(s.Cout, row_gemm_tile().cols); }

struct Geometry {
  long points;
  long panels;
  long tiles;
  long block_tiles;
  bool blocks_in_parallel;  // every thread takes whole ones
  long in_tile_stride;
  long in_point_stride;
  long out_tile_stride;
  long out_point_stride;

  Geometry(const ConvShape& s, long tile, int threads, const Schedule& how) {
    points = points_of(s, tile);
    panels = panels_of(s);
    tiles = winograd_tiles(s, tile);
    block_tiles = scaled(std::max(1L, winograd_block_tiles(s, tile)), how.block);
    using enum Schedule::Split;
    blocks_in_parallel = threads > 1 && how.split != columns && (how.split == rows || blocks() >= threads);
    // As many for each.
    if (blocks_in_parallel) block_tiles = std::max(1L, cut(tiles, cut(blocks(), threads) * threads));
    in_tile_stride = cut(winograd_depth(s), widest_vector) * widest_vector + 16;
    in_point_stride = block_tiles * in_tile_stride + 16;
    out_tile_stride = panels * row_gemm_tile().cols + 16;
    out_point_stride = block_tiles * out_tile_stride + 16;
  }
  long blocks() const { return cut(tiles, block_tiles); }
  long transforms() const { return points * (in_point_stride + out_point_stride); }
  long scratch() const { return transforms() + cut(block_tiles, widest_vector) * widest_vector; }
  long scratch_of(int threads) const { return scratch() * (blocks_in_parallel ? threads : 1); }
};

// Computes the tiles that the transforms would spoil as products of their pixels, row by row.
class SpoiledTiles {
 public:
  SpoiledTiles(const ConvShape& s, const ConvRun& run, ThreadPool& pool) : s_(s), run_(run), pool_(pool) {}

  void compute(const WinogradBlock& b) {
    for (long t = 0; t < b.tiles; t++)
      if (b.spoiled[t]) compute(TilePlace(s_, b.tile, b.first_tile + t), b.tile);
  }

 private:
  void compute(const TilePlace& place, long tile) {
    std::call_once(packed_once_, [&] {
      packed_.resize(static_cast<std::size_t>(conv_gemm_packed_size(s_)));
      pack_conv_gemm(s_, run_.weights, packed_.data(), pool_);
    });
    const long cols = std::min(tile, s_.out(s_.w) - place.x);
    ConvShape row{.Cin = s_.Cin, .Cout = s_.Cout};
    row.d = {.in = s_.d.kernel, .kernel = s_.d.kernel};
    const long kernel = s_.w.kernel;
    row.h = {.in = kernel, .kernel = kernel};
    row.w = {.in = cols + kernel - 1, .kernel = kernel};
    std::vector<float> patch(static_cast<std::size_t>(row.in_pixels() * s_.Cin));
    for (long y = place.y; y < std::min(place.y + tile, s_.out(s_.h)); y++) {
      const long pixel = (place.plane * s_.out(s_.h) + y) * s_.out(s_.w) + place.x;
      copy_pixels(place.plane, y - s_.h.pad_before, place.x - s_.w.pad_before, row.w.in, patch.data());
      ConvRun run = run_;
      run.in = patch.data();
      run.in_halves = nullptr;
      run.in_stride = s_.Cin;
      run.packed = packed_.data();
      if (run.out_halves)
        run.out_halves += pixel * run.out_stride;
      else
        run.out += pixel * run.out_stride;
      run.epilogue = run.epilogue.from(pixel, 0);
      run.first_row += pixel;
      conv_gemm(row, run, pool_);
    }
  }

  // The kernel's rows of so many pixels from (top, left) on, of each plane that a row of outputs reads; zero
  // outside the image.
  void copy_pixels(long plane, long top, long left, long width, float* to) const {
    const auto inside = [](long at, const ConvAxis& a) { return at >= 0 && at < a.in; };
    for (long i = 0; i < s_.d.kernel * s_.h.kernel * width; i++, to += s_.Cin) {
      const long z = winograd_plane(s_, plane, i / (s_.h.kernel * width));
      const long y = top + i / width % s_.h.kernel;
      const long x = left + i % width;
      if (inside(z, s_.d) && inside(y, s_.h) && inside(x, s_.w)) {
        const long pixel = ((plane / s_.out(s_.d) * s_.d.in + z) * s_.h.in + y) * s_.w.in + x;
        copy_pixel(pixel * run_.in_stride, to);
      } else {
        std::fill_n(to, s_.Cin, 0.0f);
      }
    }
  }

  void copy_pixel(long from, float* to) const {
    if (!run_.in_halves) {
      std::copy_n(run_.in + from, s_.Cin, to);
      return;
    }
    for (long c = 0; c < s_.Cin; c++) to[c] = std::bit_cast<BFloat16>(run_.in_halves[from + c]);
  }

  const ConvShape& s_;
  const ConvRun& run_;
  ThreadPool& pool_;
  std::once_flag packed_once_;
  std::vector<float> packed_;
};

}  // namespace

bool winograd_supports(const ConvShape& s, long tile) {
  const long most = s.w.kernel == 3 ? 6 : s.w.kernel == 5 ? 4 : 0;
  const auto fits = [&](const ConvAxis& a) {
    return a.kernel == s.w.kernel && a.stride == 1 && a.dilation == 1;
  };
  return tile <= most && fits(s.h) && fits(s.w) && s.groups == 1 && !s.transposed;
}

long winograd_packed_size(const ConvShape& s, long tile) {
  return points_of(s, tile) * panels_of(s) * winograd_depth(s) * row_gemm_tile().cols;
}

void pack_winograd(const ConvShape& s, long tile, const float* weights, float* packed, ThreadPool& pool) {
  constexpr long channels_per_chunk = 8;
  pool.parallel_for(cut(s.Cin, channels_per_chunk), [&](long chunk, int) {
    const long begin = chunk * channels_per_chunk;
    winograd_pack(s, tile, weights, packed, {begin, std::min(s.Cin, begin + channels_per_chunk)});
  });
}

long winograd_scratch_size(const ConvShape& s, long tile, int threads, const Schedule& schedule) {
  long most = 0;  // a pool may have fewer threads than it was to have
  for (int n = 1; n <= threads; n++) most = std::max(most, Geometry(s, tile, n, schedule).scratch_of(n));
  return most;
}

void conv_winograd(const ConvShape& s, long tile, const ConvRun& run, ThreadPool& pool) {
  const Geometry g(s, tile, pool.threads(), run.schedule);
  SpoiledTiles spoiled(s, run, pool);
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
                         .out_point_stride = g.out_point_stride,
                         .spoiled = reinterpret_cast<bool*>(scratch + g.transforms())};
  };
  if (g.blocks_in_parallel) {
    pool.parallel_for(g.blocks(), [&](long i, int worker) {
      const WinogradBlock b = block_at(i, run.scratch + worker * g.scratch());
      winograd_input(b, {0, b.tiles});
      winograd_multiply(b, {0, g.points * g.panels});
      winograd_output(b, {0, b.tiles});
      spoiled.compute(b);
    });
    return;
  }
  const long pieces = pool.threads() == 1 ? 1 : scaled(4, run.schedule.pieces) * pool.threads();
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
    spoiled.compute(b);
  }
}

}  // namespace tenon::cpu
