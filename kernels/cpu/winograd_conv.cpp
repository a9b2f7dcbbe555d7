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

long panels_of(const WinogradForm& f) { return cut(f.shape.Cout, row_gemm_tile().cols); }

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

  Geometry(const WinogradForm& f, int threads, const Schedule& how) {
    points = f.points();
    panels = panels_of(f);
    tiles = f.tiles();
    block_tiles = scaled(std::max(1L, winograd_block_tiles(f)), how.block);
    using enum Schedule::Split;
    blocks_in_parallel = threads > 1 && how.split != columns && (how.split == rows || blocks() >= threads);
    // As many for each.
    if (blocks_in_parallel) block_tiles = std::max(1L, cut(tiles, cut(blocks(), threads) * threads));
    in_tile_stride = cut(f.depth(), widest_vector) * widest_vector + 16;
    in_point_stride = block_tiles * in_tile_stride + 16;
    out_tile_stride = panels * row_gemm_tile().cols + 16;
    out_point_stride = block_tiles * out_tile_stride + 16;
  }
  long blocks() const { return cut(tiles, block_tiles); }
  long transforms() const { return points * (in_point_stride + out_point_stride); }
  long scratch() const { return transforms() + cut(block_tiles, widest_vector) * widest_vector; }
  long scratch_of(int threads) const { return scratch() * (blocks_in_parallel ? threads : 1); }
};

// Computes the tiles that the transforms would spoil as products of their pixels: those of a row that lie
// side by side together.
class SpoiledTiles {
 public:
  SpoiledTiles(const WinogradForm& f, const ConvRun& run, ThreadPool& pool)
      : f_(f), s_(f.shape), run_(run), pool_(pool) {}

  void compute(const WinogradBlock& b) {
    for (long t = 0; t < b.tiles; t++)
      if (b.spoiled[t]) compute(TilePlace(f_, b.first_tile + t));
  }

 private:
  void compute(const TilePlace& place) {
    std::call_once(packed_once_, [&] {
      packed_.resize(static_cast<std::size_t>(conv_gemm_packed_size(s_)));
      pack_conv_gemm(s_, run_.weights, packed_.data(), pool_);
    });
    const long rows = places_below(s_.out(s_.h), place.y, s_.h.dilation, f_.down.outputs);
    const long cols = places_below(s_.out(s_.w), place.x, s_.w.dilation, f_.across.outputs);
    const long together = WinogradForm::step(s_.w) == 1 ? cols : 1;
    for (long y = 0; y < rows; y++)
      for (long x = 0; x < cols; x += together)
        compute(place.plane, place.y + y * s_.h.dilation, place.x + x * s_.w.dilation, together);
  }

  void compute(long plane, long y, long x, long cols) {
    ConvShape row{.Cin = s_.Cin, .Cout = s_.Cout};
    row.d = {.in = s_.d.kernel, .kernel = s_.d.kernel};
    row.h = {.in = s_.h.kernel, .kernel = s_.h.kernel};
    row.w = {.in = cols + s_.w.kernel - 1, .kernel = s_.w.kernel};
    std::vector<float> patch(static_cast<std::size_t>(row.in_pixels() * s_.Cin));
    copy_pixels(plane, y * s_.h.stride - s_.h.pad_before, x * s_.w.stride - s_.w.pad_before, row.w.in,
                patch.data());
    const long pixel = (plane * s_.out(s_.h) + y) * s_.out(s_.w) + x;
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

  // What the kernel reads from (top, left) on, so many pixels across, of each plane that a row of outputs
  // reads; zero outside the image.
  void copy_pixels(long plane, long top, long left, long width, float* to) const {
    const auto inside = [](long at, const ConvAxis& a) { return at >= 0 && at < a.in; };
    for (long i = 0; i < s_.d.kernel * s_.h.kernel * width; i++, to += s_.Cin) {
      const long z = f_.plane(plane, i / (s_.h.kernel * width));
      const long y = top + i / width % s_.h.kernel * s_.h.dilation;
      const long x = left + i % width * s_.w.dilation;
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

  const WinogradForm& f_;
  const ConvShape& s_;
  const ConvRun& run_;
  ThreadPool& pool_;
  std::once_flag packed_once_;
  std::vector<float> packed_;
};

}  // namespace

long winograd_packed_size(const WinogradForm& f) {
  return f.points() * panels_of(f) * f.depth() * row_gemm_tile().cols;
}

void pack_winograd(const WinogradForm& f, const float* weights, float* packed, ThreadPool& pool) {
  constexpr long channels_per_chunk = 8;
  const long channels = f.shape.Cin;
  pool.parallel_for(cut(channels, channels_per_chunk), [&](long chunk, int) {
    const long begin = chunk * channels_per_chunk;
    winograd_pack(f, weights, packed, {begin, std::min(channels, begin + channels_per_chunk)});
  });
}

long winograd_scratch_size(const WinogradForm& f, int threads, const Schedule& schedule) {
  long most = 0;  // a pool may have fewer threads than it was to have
  for (int n = 1; n <= threads; n++) most = std::max(most, Geometry(f, n, schedule).scratch_of(n));
  return most;
}

void conv_winograd(const WinogradForm& f, const ConvRun& run, ThreadPool& pool) {
  const Geometry g(f, pool.threads(), run.schedule);
  SpoiledTiles spoiled(f, run, pool);
  const auto block_at = [&](long i, float* scratch) {
    return WinogradBlock{.form = &f,
                         .run = &run,
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
