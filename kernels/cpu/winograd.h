// Winograd convolution: 3x3 or 5x5, stride 1, computed as (tile + kernel - 1)^2 matrix products over
// transformed tiles of the image. In three dimensions the last two are transformed, and the taps of the first
// are part of the products' depth.
#pragma once
#include "kernels/cpu/conv.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// Points of a transform along an axis, for so many outputs: that of a whole tile has their square.
[[gnu::always_inline]] inline long winograd_points(const ConvShape& s, long tile) {
  return tile + s.w.kernel - 1;
}

/// Depth of the products: input channels of each tap of the first axis.
[[gnu::always_inline]] inline long winograd_depth(const ConvShape& s) { return s.d.kernel * s.Cin; }

/// The input plane that an output plane, counted over the batch, reads by a tap of the first axis; it may lie
/// outside.
[[gnu::always_inline]] inline long winograd_plane(const ConvShape& s, long plane, long tap) {
  return plane % s.out(s.d) * s.d.stride - s.d.pad_before + tap * s.d.dilation;
}

/// Tiles of all planes of a batch.
[[gnu::always_inline]] inline long winograd_tiles(const ConvShape& s, long tile) {
  return s.N * s.out(s.d) * ((s.out(s.h) + tile - 1) / tile) * ((s.out(s.w) + tile - 1) / tile);
}

/// Where a tile lies in the output.
struct TilePlace {
  long plane;  // counted over the batch
  long y;
  long x;

  TilePlace(const ConvShape& s, long tile, long index) {
    const long across = (s.out(s.w) + tile - 1) / tile;
    const long down = (s.out(s.h) + tile - 1) / tile;
    plane = index / (across * down);
    y = index / across % down * tile;
    x = index % across * tile;
  }
};

/// A block of consecutive tiles (counted over batch, tile rows, tile columns) and where its transforms lie.
struct WinogradBlock {
  const ConvShape* shape;
  const ConvRun* run;
  long tile;  // outputs per tile and axis: 2, 4 or 6
  long first_tile;
  long tiles;
  // [points^2][tiles of a block][winograd_depth]: strides in floats, padded so that they are no powers of
  // two
  float* transformed_in;
  long in_tile_stride;
  long in_point_stride;
  float* products;
  long out_tile_stride;
  long out_point_stride;
  // By tile: its patch holds what is not finite, which the transforms would spread over the whole tile. It is
  // left out of the image (SpoiledTiles).
  bool* spoiled;
};

struct WinogradRange {
  long begin;
  long end;
};

/// Transforms tiles [begin, end) of the block: image -> transformed_in.
using WinogradInput = void(const WinogradBlock& block, WinogradRange tiles);
TENON_PER_ISA(WinogradInput, winograd_input, winograd_input)

/// Products [begin, end) of the block, counted over points and column panels: transformed_in * weights ->
/// products.
using WinogradMultiply = void(const WinogradBlock& block, WinogradRange products);
TENON_PER_ISA(WinogradMultiply, winograd_multiply, winograd_multiply)

/// Transforms back: products -> image, with the epilogue.
using WinogradOutput = void(const WinogradBlock& block, WinogradRange tiles);
TENON_PER_ISA(WinogradOutput, winograd_output, winograd_output)

/// Transforms the weights that meet input channels [begin, end): packed is
/// [points][panels][winograd_depth][panel columns].
using WinogradPack = void(const ConvShape& shape, long tile, const float* weights, float* packed,
                          WinogradRange channels);
TENON_PER_ISA(WinogradPack, winograd_pack, winograd_pack)

/// What of ConvRun::schedule counts: `split` by rows shares out whole blocks, by columns the steps of each.
inline constexpr Knobs winograd_knobs{.split = true, .pieces = true, .block = true, .outer = true};

/// Tiles that make a good block for this ISA: their transforms stay in the L2 cache.
using WinogradBlockTiles = long(const ConvShape& shape, long tile);
TENON_PER_ISA(WinogradBlockTiles, winograd_block_tiles, winograd_block_tiles)

/// Tiles are of 2, 4 and 6 outputs an axis for 3x3, of 2 and 4 for 5x5.
bool winograd_supports(const ConvShape& s, long tile);
long winograd_packed_size(const ConvShape& s, long tile);
void pack_winograd(const ConvShape& s, long tile, const float* weights, float* packed, ThreadPool& pool);
long winograd_scratch_size(const ConvShape& s, long tile, int threads, const Schedule& schedule);
void conv_winograd(const ConvShape& s, long tile, const ConvRun& run, ThreadPool& pool);

}  // namespace tenon::cpu
